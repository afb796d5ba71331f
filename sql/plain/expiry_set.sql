-- Makes the refreshes of a subject that have begun so far stale. The expiry never moves back.
UPDATE rowlock_expiry SET expired = ?i WHERE name = ?t AND expired < ?i;
