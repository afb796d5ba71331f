-- Records the end of a run in its job. failed: the time of a failure, or 0.
UPDATE rowlock_job SET version = version + 1, running = ?i, failed = ?i
 WHERE name = ?t AND running = ?i;
