-- Reads a job.
SELECT name, version, schedule, due, {last_due}, repeats, failed, running
  FROM rowlock_job WHERE name = ?t;
