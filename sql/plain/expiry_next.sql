-- Moves the expiry of a subject by 1 ms, so that it always advances, and locks the row for
-- expiry_set.sql.
UPDATE rowlock_expiry SET expired = expired + 1 WHERE name = ?t;
