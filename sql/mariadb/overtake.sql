-- A frozen head: wants, ticket, suspect, strike, limit_ms -> 0, 1, 2.
CALL rowlock_overtake(?, ?, ?, ?, ?);
