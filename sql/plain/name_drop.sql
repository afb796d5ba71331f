-- Deletes the row of a name, under its lock.
DELETE FROM rowlock_name WHERE name = ?t;
