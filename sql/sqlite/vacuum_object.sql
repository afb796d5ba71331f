-- Technique insert: deletes leftover rows, under the write lock.
DELETE FROM rowlock_object;
