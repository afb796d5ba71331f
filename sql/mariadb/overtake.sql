-- Calls the roll of the waiters ahead: wants, ticket, roll_call, limit_ms -> its number, or 0.
CALL rowlock_overtake(?, ?, ?, ?);
