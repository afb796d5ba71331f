-- The body of rowlock_plan_job, which sets v_planned.
DECLARE v_planned INT DEFAULT 0;
DECLARE v_ended TINYINT DEFAULT 1;
{own_transaction};
IF p_version = 0 THEN
    INSERT IGNORE INTO rowlock_job (name, version, schedule, due)
        VALUES (p_name, 1, p_schedule, p_due);
    SET v_planned = ROW_COUNT();
ELSE
    IF p_former <> 0 THEN
        CALL rowlock_end_expired(p_former, v_ended);
    END IF;
    UPDATE rowlock_job
       SET version = version + 1, schedule = p_schedule, due = p_due,
           running = IF(EXISTS (SELECT 1 FROM rowlock_run r
                                 WHERE r.token = running AND r.outcome = 'not started'),
                                     running, 0)
     WHERE name = p_name AND version = p_version AND v_ended;
    SET v_planned = ROW_COUNT();
    IF v_planned THEN
        CALL rowlock_end_lost_run(p_former, p_outcome);
    END IF;
END IF;
COMMIT AND NO CHAIN NO RELEASE;
