-- Deletes a job, on condition that it has not changed.
DELETE FROM rowlock_job WHERE name = ?t AND version = ?i;
