SELECT token FROM rowlock_run WHERE job = ?t;
