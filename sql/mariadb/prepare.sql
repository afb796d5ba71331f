CALL rowlock_prepare_wants(?);
