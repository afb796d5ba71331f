SELECT {job_row} FROM rowlock_job WHERE name = ?t;
