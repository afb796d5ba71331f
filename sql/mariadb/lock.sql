-- Locks the names in an open transaction: wants, wait_ms, lease_ms, sweep -> status row.
CALL rowlock_lock(?, ?, ?, ?);
