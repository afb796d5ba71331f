-- Reads the runs of a job.
SELECT {run_row}
  FROM rowlock_run WHERE job = ?t;
