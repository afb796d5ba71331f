-- Records the end of a run in its job, and counts it. failed: the time of a failure, or 0.
UPDATE rowlock_job
   SET version = version + 1, running = ?i, failed = ?i,
       runs_done = runs_done + ?i, runs_failed = runs_failed + ?i,
       runs_timed_out = runs_timed_out + ?i, runs_broken = runs_broken + ?i,
       runs_lost = runs_lost + ?i, runs_late = runs_late + ?i,
       runs_not_started = runs_not_started + ?i, last_success = ?i
 WHERE name = ?t AND running = ?i;
