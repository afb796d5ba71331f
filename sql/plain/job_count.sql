-- Counts the end of a run that is no longer the current one of its job.
UPDATE rowlock_job
   SET {count_runs}, last_success = ?i
 WHERE name = ?t;
