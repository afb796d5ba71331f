CALL rowlock_advance_row(?, ?, ?);
