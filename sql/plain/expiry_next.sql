-- Makes the refreshes of a subject stale that began at the time of the last such statement, and
-- locks the row for expiry_set.
UPDATE rowlock_expiry SET expired = expired + 1 WHERE name = ?t;
