CALL rowlock_list(?);
