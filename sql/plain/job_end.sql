-- Records the end of a run in its job, and counts it. failed: the time of a failure, or 0.
UPDATE rowlock_job
   SET version = version + 1, running = ?i, failed = ?i,
       {count_runs}, last_success = ?i
 WHERE name = ?t AND running = ?i;
