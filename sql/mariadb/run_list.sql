CALL rowlock_list_runs(?);
