-- Waits on a hint: kind, number, limit_ms, ticket, session -> 1 if it came.
CALL rowlock_await(?, ?, ?, ?, ?);
