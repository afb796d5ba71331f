-- Deletes rows of the history whose time has passed: most rows -> number of deleted rows.
CALL rowlock_prune_row(?);
