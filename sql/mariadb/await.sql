-- Waits for a session lock: kind, number, limit_ms, ticket, session -> 1 if it was free in time.
CALL rowlock_await(?, ?, ?, ?, ?);
