CALL rowlock_subject_expire(?);
