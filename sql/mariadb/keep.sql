CALL rowlock_keep_wants(?);
