-- Is it still a lease of that name? name, token -> status, left_ms, mode, owner.
CALL rowlock_check(?, ?);
