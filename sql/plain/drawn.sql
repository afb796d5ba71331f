-- Reads the number that this transaction has drawn, and the level of the history.
SELECT {drawn}, history FROM rowlock_number WHERE only_one = 1;
