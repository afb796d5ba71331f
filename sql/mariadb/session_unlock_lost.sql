-- Releases the session lock that remains from a failed grant or ticket.
CALL rowlock_session_unlock_lost();
