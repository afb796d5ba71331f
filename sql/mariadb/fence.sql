-- The fence, in the caller's transaction: name, token, limit_ms -> status row.
CALL rowlock_fence_row(?, ?, ?);
