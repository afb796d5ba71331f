-- Reads the heartbeat of a lease.
SELECT expires, stop, {now} AS now_ms FROM rowlock_heartbeat WHERE token = ?i;
