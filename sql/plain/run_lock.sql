-- Locks a run, so that only one session ends it.
UPDATE rowlock_run SET repeats = repeats WHERE token = ?i;
