-- Returns the mode in which a transaction has this name locked, or NULL.
CALL rowlock_probe(?);
