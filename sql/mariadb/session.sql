CALL rowlock_session();
