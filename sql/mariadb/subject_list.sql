CALL rowlock_subject_list(?);
