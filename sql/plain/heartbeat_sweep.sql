-- Deletes a heartbeat on condition that it has expired.
DELETE FROM rowlock_heartbeat WHERE token = ?i AND expires <= {now};
