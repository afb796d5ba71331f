-- Deletes the runs of a job.
DELETE FROM rowlock_run WHERE job = ?t;
