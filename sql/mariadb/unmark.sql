-- Gives it back: kind, number, session.
CALL rowlock_unmark(?, ?, ?);
