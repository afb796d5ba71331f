-- Records the result of a refresh and ends its lease: name, token, failed, error, exit -> status.
CALL rowlock_subject_finish(?, ?, ?, ?, ?);
