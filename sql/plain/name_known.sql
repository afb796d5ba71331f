-- Finds the row of a name.
SELECT n FROM rowlock_name WHERE name = ?t;
