-- Locks a job, so that no session claims or ends a run of it.
UPDATE rowlock_job SET version = version WHERE name = ?t;
