-- Reads the time up to which refreshes of a subject that began count as stale.
SELECT expired FROM rowlock_expiry WHERE name = ?t;
