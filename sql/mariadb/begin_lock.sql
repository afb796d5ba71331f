-- Begins a transaction at READ COMMITTED and locks the names in it: wants, wait_ms -> status row.
CALL rowlock_begin_lock(?, ?);
