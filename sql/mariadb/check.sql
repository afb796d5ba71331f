CALL rowlock_check(?, ?);
