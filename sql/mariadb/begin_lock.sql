-- Begins a transaction at READ COMMITTED and locks the names in it: wants, wait_ms -> status row,
-- or none if it has locked the one name of the wants.
CALL rowlock_begin_lock(?, ?);
