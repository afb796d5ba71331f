CALL rowlock_fence_row(?, ?, ?);
