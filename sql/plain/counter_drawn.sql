-- Reads the last number of a counter that was drawn.
SELECT {drawn} FROM rowlock_counter WHERE name = ?t;
