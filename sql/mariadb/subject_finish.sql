-- Ends the lease, too: name, token, failed, error, exit -> status.
CALL rowlock_subject_finish(?, ?, ?, ?, ?);
