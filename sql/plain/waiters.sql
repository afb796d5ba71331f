SELECT {waiter_row} FROM rowlock_waiter WHERE name = ?t AND ticket <= ?i;
