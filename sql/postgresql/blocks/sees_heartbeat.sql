-- Before the lease % is ended. A REPEATABLE READ transaction may have a snapshot older than a first
-- renewal, whose heartbeat it would not see: making one fails then (40001).
IF pg_catalog.current_setting('transaction_isolation') <> 'read committed' THEN
    PERFORM rowlock.make_heartbeat(%);
END IF
