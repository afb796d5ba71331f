DELETE FROM rowlock_run WHERE job = ?t;
