-- Makes the names of the wants known, outside a transaction.
CALL rowlock_prepare_wants(?);
