-- Deletes at most that many rows of the history whose time has passed: -> their number.
CALL rowlock_prune_row(?);
