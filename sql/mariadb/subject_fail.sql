-- Records that the transaction of a refresh was rolled back: name, version, description, host, pid,
-- program, error -> 1 recorded.
CALL rowlock_subject_fail(?, ?, ?, ?, ?, ?, ?);
