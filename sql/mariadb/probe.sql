-- Has a transaction this name locked? Its mode, or NULL.
CALL rowlock_probe(?);
