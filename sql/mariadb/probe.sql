CALL rowlock_probe(?);
