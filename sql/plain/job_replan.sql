-- Records the next due time without a run, on condition that the job has not changed.
UPDATE rowlock_job SET {planned}, running = ?i
 WHERE name = ?t AND version = ?i;
