-- From now on it lives.
-- ?1 token, ?2 ttl_ms
INSERT INTO rowlock_beat (token, expires)
VALUES (?1, CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER) + ?2);
