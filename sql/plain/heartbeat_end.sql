DELETE FROM rowlock_heartbeat WHERE token = ?i;
