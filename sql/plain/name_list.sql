SELECT name FROM rowlock_name;
