CALL rowlock_withdraw(?, ?);
