-- Records the end of a run.
UPDATE rowlock_run SET outcome = ?t, exit_status = ?i, output_text = ?t, finished = {now}
 WHERE token = ?i;
