-- Makes the refreshes of a subject that have begun so far stale.
UPDATE rowlock_expiry SET expired = ?i WHERE name = ?t;
