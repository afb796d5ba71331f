SELECT {run_row} FROM rowlock_run WHERE token = ?i;
