-- Removes dead waiters and expired leases; says how many rows of leases went.
DELETE FROM rowlock_waiter
 WHERE seen <= CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER);
DELETE FROM rowlock_beat
 WHERE expires <= CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER);
DELETE FROM rowlock_lease WHERE token NOT IN (SELECT token FROM rowlock_beat);
SELECT changes();
