-- Takes the session lock of a ticket or token of ours: kind, number, session.
CALL rowlock_mark(?, ?, ?);
