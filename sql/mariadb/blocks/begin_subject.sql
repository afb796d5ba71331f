-- Begins a refresh, under the lock, in the transaction that does it or that grants the lease
-- p_token for it: sets a stale subject to PROCESSING. A repeated call under one token returns the
-- same. The savepoint ends with the transaction, so complete_subject finds it only in the same
-- transaction.
DECLARE v_stale TINYINT;
DECLARE v_age_ms, v_now_ms BIGINT;
DECLARE v_expired BIGINT DEFAULT -1;
DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;

CALL rowlock_subject_judge(p_name, p_max_age_ms, v_stale, v_age_ms);
IF v_stale IS NULL THEN                     -- unknown to rowlock_refresh, or removed by hand
    INSERT INTO rowlock_subject (name) VALUES (p_name);
    SET v_stale = 1;
END IF;
IF v_stale THEN
    CALL rowlock_clock(v_now_ms);
    SELECT expired INTO v_expired FROM rowlock_expiry WHERE name = p_name;
    UPDATE rowlock_subject
       SET version = version + 1, status = 'PROCESSING', ended = NULL, error = NULL,
           `exit` = NULL, began = GREATEST(v_now_ms, v_expired + 1),
           description = COALESCE(p_description, description),
           host = p_host, pid = p_pid, program = p_program, token = p_token
     WHERE name = p_name AND (p_token = 0 OR token <> p_token OR status <> 'PROCESSING');
    SAVEPOINT rowlock_refresh;
END IF;
