CALL rowlock_session_unlock(?, ?, ?);
