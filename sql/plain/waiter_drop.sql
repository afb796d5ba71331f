DELETE FROM rowlock_waiter WHERE ticket = ?i;
