-- Deletes an old run.
DELETE FROM rowlock_run WHERE token = ?i;
