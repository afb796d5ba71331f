-- A transaction is open in which the caller can lock (v_want).
IF NOT @@in_transaction AND @@autocommit THEN
    CALL rowlock_misuse(v_want, 6);
END IF;
IF @@tx_isolation <> 'READ-COMMITTED' THEN
    CALL rowlock_misuse(v_want, 1);
END IF;
