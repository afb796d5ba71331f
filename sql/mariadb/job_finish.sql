-- Records the end of a run and ends its lease: token, outcome, exit, output -> status.
CALL rowlock_finish_job(?, ?, ?, ?);
