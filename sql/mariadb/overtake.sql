-- A roll call of the waiters before us: wants, ticket, called, limit_ms -> its number, or 0.
CALL rowlock_overtake(?, ?, ?, ?);
