CALL rowlock_remove(?);
