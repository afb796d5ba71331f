-- Grants a lease: wants, owner, ttl_ms, wait_ms, ticket, session, host, pid, command, note -> grant
-- row.
CALL rowlock_grant(?, ?, ?, ?, ?, ?, ?, ?, ?, ?);
