CALL rowlock_release_lease(?, ?, ?);
