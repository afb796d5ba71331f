-- Returns the number and the start time of this session, as end_session expects them.
CALL rowlock_session();
