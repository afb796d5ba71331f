-- One short transaction each.
BEGIN NOT ATOMIC
    DECLARE v_all, v_free INT;

    SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
    FOR dead IN (SELECT token, MAX(name) AS name FROM rowlock_held
                  WHERE expires <= utc_timestamp(6) - INTERVAL 1 MINUTE
                  GROUP BY token ORDER BY MAX(expires) LIMIT 200) DO
        SELECT count(*) INTO v_all FROM rowlock_name WHERE token = dead.token AND held = 1;
        IF v_all > 0 THEN
            SELECT count(*) INTO v_free FROM rowlock_name FORCE INDEX (rowlock_name_fence)
             WHERE name = dead.name AND held = 1 AND token = dead.token FOR UPDATE SKIP LOCKED;
        ELSE
            SELECT count(*) INTO v_all FROM rowlock_lease WHERE token = dead.token;
            SELECT count(*) INTO v_free FROM rowlock_lease WHERE token = dead.token
               FOR UPDATE SKIP LOCKED;
        END IF;
        COMMIT AND NO CHAIN NO RELEASE;
        IF v_free = v_all THEN
            CALL rowlock_sweep(dead.token);
        END IF;
    END FOR;
END;
