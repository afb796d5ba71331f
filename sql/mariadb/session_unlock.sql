-- Releases the session lock of the caller's ticket or token: kind, number, session.
CALL rowlock_session_unlock(?, ?, ?);
