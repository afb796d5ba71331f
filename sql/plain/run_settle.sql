-- Records the end of a run that no process finished.
UPDATE rowlock_run SET outcome = ?t, finished = {now}
 WHERE token = ?i AND outcome IN ('running', 'broken');
