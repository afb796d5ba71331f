-- One look at the queue: wants, ticket, session, good_ms -> place row.
CALL rowlock_place(?, ?, ?, ?);
