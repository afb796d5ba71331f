CALL rowlock_sweep(?);
