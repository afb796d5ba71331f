-- Lists the counters.
SELECT name FROM rowlock_counter;
