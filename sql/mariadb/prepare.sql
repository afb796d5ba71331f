-- Creates the rows of the names, outside a transaction.
CALL rowlock_prepare_wants(?);
