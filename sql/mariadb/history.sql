-- Lists ended leases, waiters that gave up, and finished runs, latest first: LIKE pattern of the
-- name, escaped by '!', or NULL; ended since (ms); 1: problems only; waited at least (ms); limit.
CALL rowlock_list_history(?, ?, ?, ?, ?);
