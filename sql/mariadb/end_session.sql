-- Ends that session of ours, if it is the same one still: number, start.
CALL rowlock_end_session(?, ?);
