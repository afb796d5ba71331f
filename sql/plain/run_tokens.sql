-- Reads which runs a job has.
SELECT token FROM rowlock_run WHERE job = ?t;
