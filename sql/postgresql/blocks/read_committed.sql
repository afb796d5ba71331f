-- Whether each statement has a snapshot of its own.
pg_catalog.current_setting('transaction_isolation') IN ('read committed', 'read uncommitted')
