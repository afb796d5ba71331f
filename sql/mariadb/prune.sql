CALL rowlock_prune_row(?);
