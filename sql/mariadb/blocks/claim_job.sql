-- The body of rowlock_claim_job, which sets v_claimed and v_now_ms.
IF p_version = 0 THEN
    INSERT IGNORE INTO rowlock_job (name, version, schedule, due)
        VALUES (p_name, 0, p_schedule, p_instant);
END IF;
CALL rowlock_clock(v_now_ms);
UPDATE rowlock_job
   SET version = version + 1, schedule = p_schedule, due = p_due, last = p_instant,
       repeats = p_repeats, failed = 0, running = p_token
 WHERE name = p_name AND version = p_version AND p_instant <= v_now_ms;
SET v_claimed = ROW_COUNT();
IF v_claimed THEN
    CALL rowlock_end_lost_run(p_former, p_outcome);
    CALL rowlock_clock(v_now_ms);
    INSERT INTO rowlock_run (token, job, node, pid, due, repeats, started, taken_until)
    VALUES (p_token, p_name, p_node, p_pid, p_instant, p_repeats, v_now_ms,
            v_now_ms + p_at_least);
    CALL rowlock_trim_runs(p_name, p_history);
ELSE
    SELECT count(*) INTO v_claimed FROM rowlock_job WHERE name = p_name AND running = p_token;
END IF;
