-- Records that a subject is fresh, in the transaction that refreshed it: name, version -> status.
CALL rowlock_subject_done(?, ?);
