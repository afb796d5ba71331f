-- Reports the state of a lease: name, token -> status, left_ms, mode, owner.
CALL rowlock_check(?, ?);
