-- Moves the expiry of a subject forward, never back.
UPDATE rowlock_expiry SET expired = ?i WHERE name = ?t AND expired < ?i;
