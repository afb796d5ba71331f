-- No row: the one name of the wants is locked.
CALL rowlock_begin_lock(?, ?);
