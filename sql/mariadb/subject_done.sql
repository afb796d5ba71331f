-- In the transaction that made it anew: name, version -> status.
CALL rowlock_subject_done(?, ?);
