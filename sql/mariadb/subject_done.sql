CALL rowlock_subject_done(?, ?);
