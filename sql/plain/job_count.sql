-- Counts the end of a run that is no longer that of its job.
UPDATE rowlock_job
   SET runs_done = runs_done + ?i, runs_failed = runs_failed + ?i,
       runs_timed_out = runs_timed_out + ?i, runs_broken = runs_broken + ?i,
       runs_lost = runs_lost + ?i, runs_late = runs_late + ?i,
       runs_not_started = runs_not_started + ?i, last_success = ?i
 WHERE name = ?t;
