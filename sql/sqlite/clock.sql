-- Reads the clock by which leases expire.
SELECT CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER);
