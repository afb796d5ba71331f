-- One short transaction each.
BEGIN NOT ATOMIC
    DECLARE v_all, v_free INT;

    SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
    FOR dead IN (SELECT token FROM rowlock_heartbeat
                  WHERE expires <= utc_timestamp(6) - INTERVAL 1 MINUTE
                  ORDER BY expires LIMIT 200) DO
        SELECT count(*) INTO v_all FROM rowlock_lease WHERE token = dead.token;
        SELECT count(*) INTO v_free FROM rowlock_lease WHERE token = dead.token
           FOR UPDATE SKIP LOCKED;
        COMMIT AND NO CHAIN NO RELEASE;
        IF v_free = v_all THEN
            CALL rowlock_sweep(dead.token);
        END IF;
    END FOR;
END;
