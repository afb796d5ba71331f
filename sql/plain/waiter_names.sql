SELECT name FROM rowlock_waiter WHERE ticket = ?i;
