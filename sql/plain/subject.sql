SELECT {subject_row} FROM rowlock_subject WHERE name = ?t;
