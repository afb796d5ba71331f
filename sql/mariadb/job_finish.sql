-- Ends a run and its lease: token, outcome, exit, output -> status.
CALL rowlock_finish_job(?, ?, ?, ?);
