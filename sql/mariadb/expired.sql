CALL rowlock_expired(?);
