SELECT {subject_row} FROM rowlock_subject;
