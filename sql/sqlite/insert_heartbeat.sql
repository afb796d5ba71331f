-- Inserts the heartbeat of a new lease.
-- ?1 token, ?2 ttl_ms
INSERT INTO rowlock_heartbeat (token, expires)
VALUES (?1, CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER) + ?2);
