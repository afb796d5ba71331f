-- Returns the queue position: wants, ticket, session, good_ms -> place row.
CALL rowlock_place(?, ?, ?, ?);
