CALL rowlock_list_jobs(?);
