SELECT rowlock.vacuum();
