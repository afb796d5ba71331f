-- Deletes a heartbeat.
DELETE FROM rowlock_heartbeat WHERE token = ?i;
