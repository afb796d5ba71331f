SELECT {waiter_row} FROM rowlock_waiter;
