DELETE FROM rowlock_run WHERE token = ?i;
