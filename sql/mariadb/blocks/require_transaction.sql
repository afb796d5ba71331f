-- Refuses the packed names % unless a transaction is open, at READ COMMITTED.
IF NOT @@in_transaction AND @@autocommit THEN
    CALL rowlock_misuse(%, 6);
END IF;
IF @@tx_isolation <> 'READ-COMMITTED' THEN
    CALL rowlock_misuse(%, 1);
END IF;
