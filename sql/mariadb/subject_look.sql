CALL rowlock_subject_look(?, ?);
