-- Ends a session of this account if it is still the same one: number, start.
CALL rowlock_end_session(?, ?);
