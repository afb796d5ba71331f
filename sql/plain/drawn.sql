-- Reads the number that this transaction has drawn.
SELECT {drawn} FROM rowlock_number WHERE only_one = 1;
