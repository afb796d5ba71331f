SELECT name FROM rowlock_counter;
