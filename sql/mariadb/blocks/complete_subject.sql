-- Completes a refresh in the transaction that began it; otherwise v_status 8: that transaction was
-- committed or rolled back without completing it.
DECLARE v_now_ms BIGINT;
DECLARE v_status TINYINT DEFAULT 0;

BEGIN
    DECLARE EXIT HANDLER FOR 1305 SET v_status = 8;

    RELEASE SAVEPOINT rowlock_refresh;
END;
IF v_status = 0 THEN
    CALL rowlock_clock(v_now_ms);
    UPDATE rowlock_subject
       SET status = 'COMPLETE', ended = v_now_ms, updated = v_now_ms, basis = began
     WHERE name = p_name AND version = p_version AND status = 'PROCESSING' AND token = 0;
    SET v_status = IF(ROW_COUNT() > 0, 0, 8);
END IF;
