-- Reads for every subject the time up to which refreshes that began count as stale.
SELECT name, expired FROM rowlock_expiry;
