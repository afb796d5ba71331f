-- Claims a run, on condition that the job has not changed and the due time has come.
UPDATE rowlock_job
   SET {planned}, {last_due} = ?i, repeats = ?i, failed = 0, running = ?i
 WHERE name = ?t AND version = ?i AND {now} >= ?i;
