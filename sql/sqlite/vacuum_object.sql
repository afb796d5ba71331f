-- Technique insert: deletes leftover rows. The write lock prevents changes between the two
-- statements.
DELETE FROM rowlock_object;
SELECT changes();
