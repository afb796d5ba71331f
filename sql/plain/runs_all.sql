-- Reads the runs of all jobs.
SELECT {run_row}
  FROM rowlock_run;
