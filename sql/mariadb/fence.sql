-- Keeps a lease valid until the caller's transaction ends: name, token, limit_ms -> status row.
CALL rowlock_fence_row(?, ?, ?);
