-- Technique insert: deletes leftover rows, and counts them under the same write lock.
DELETE FROM rowlock_object;
SELECT changes();
