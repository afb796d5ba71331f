CALL rowlock_session_unlock_lost();
