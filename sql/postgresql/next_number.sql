SELECT rowlock.next_number();
