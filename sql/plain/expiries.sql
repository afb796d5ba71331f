-- Reads until when refreshes of all subjects count as stale.
SELECT name, expired FROM rowlock_expiry;
