-- Reads all jobs.
SELECT name, version, schedule, due, {last_due}, repeats, failed, running
  FROM rowlock_job;
