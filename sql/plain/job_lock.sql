-- Locks a job, so that no session claims a run of it or ends one.
UPDATE rowlock_job SET version = version WHERE name = ?t;
