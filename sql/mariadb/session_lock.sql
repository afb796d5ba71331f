CALL rowlock_session_lock(?, ?, ?);
