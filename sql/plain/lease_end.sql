-- Deletes the rows of a lease, after its heartbeat.
DELETE FROM rowlock_lease WHERE token = ?i;
