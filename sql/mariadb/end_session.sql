CALL rowlock_end_session(?, ?);
