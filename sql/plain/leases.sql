SELECT {lease_row} FROM rowlock_lease WHERE name = ?t;
