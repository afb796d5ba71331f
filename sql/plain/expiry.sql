-- Reads until when refreshes of a subject count as stale.
SELECT expired FROM rowlock_expiry WHERE name = ?t;
