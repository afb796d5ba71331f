-- Removes dead waiters and expired leases; returns the number of lease rows deleted.
DELETE FROM rowlock_waiter
 WHERE alive_until <= CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER);
DELETE FROM rowlock_heartbeat
 WHERE expires <= CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER);
DELETE FROM rowlock_lease WHERE token NOT IN (SELECT token FROM rowlock_heartbeat);
SELECT changes();
