-- Reads a job.
SELECT name, version, schedule, due, {last_due}, repeats, failed, running,
       runs_done, runs_failed, runs_timed_out, runs_broken,
       runs_lost, runs_late, runs_not_started, last_success
  FROM rowlock_job WHERE name = ?t;
