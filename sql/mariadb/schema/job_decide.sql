-- rowlock on MariaDB: the decision of a node about a job, by this server's clock and time zones.
-- src/job/decide.c is the same for databases without procedures, and has the comments on each rule;
-- tests/sessions/server_schedule_test compares the two. Run job.sql and schedule.sql first.

{own_mode};

DELIMITER //

-- The state of a job; p_version 0: it is not known. p_held: a live lease has the name.
CREATE OR REPLACE PROCEDURE rowlock_read_job(
    IN p_name VARBINARY(255), OUT p_now_ms BIGINT, OUT p_version BIGINT,
    OUT p_schedule VARCHAR(400) CHARACTER SET utf8mb4, OUT p_due BIGINT, OUT p_last BIGINT,
    OUT p_failed BIGINT, OUT p_repeats INT, OUT p_running BIGINT, OUT p_broken TINYINT,
    OUT p_held TINYINT, OUT p_free_ms BIGINT, OUT p_not_started TINYINT)
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE v_now_ms BIGINT;

    CALL rowlock_require_no_transaction();
    CALL rowlock_clock(v_now_ms);
    SELECT {state_columns}
      INTO p_now_ms, p_version, p_schedule, p_due, p_last, p_failed, p_repeats, p_running,
           p_broken, p_held, p_free_ms, p_not_started
      {state_rows};
    COMMIT AND NO CHAIN NO RELEASE;
    CALL rowlock_check_answer(p_version);
END//

-- See decide.h, of which this is a copy: a pure function of the job's state and of the node's
-- rules. p_schedule and the parameters up to p_skips_missed are the node's; the others are of
-- rowlock_read_job. p_act: 0 wait, 1 await, 2 plan, 3 claim, 4 settle; NULL: the server does not
-- know the time zone. p_retry < 0: one, if lost. p_former: the token of the previous run, if it
-- left no lease; p_outcome: the reason.
CREATE OR REPLACE PROCEDURE rowlock_decide_job(
    IN p_schedule VARCHAR(400) CHARACTER SET utf8mb4, IN p_early_ms BIGINT, IN p_retry INT,
    IN p_backoff_ms BIGINT, IN p_skips_missed TINYINT, IN p_now_ms BIGINT, IN p_version BIGINT,
    IN p_stored VARCHAR(400) CHARACTER SET utf8mb4, IN p_planned BIGINT, IN p_last BIGINT,
    IN p_failed BIGINT, IN p_tries INT, IN p_running BIGINT, IN p_broken TINYINT,
    IN p_held TINYINT, IN p_free_ms BIGINT, IN p_not_started TINYINT,
    OUT p_act INT, OUT p_until_ms BIGINT, OUT p_instant BIGINT, OUT p_due BIGINT,
    OUT p_repeats INT, OUT p_former BIGINT, OUT p_outcome VARCHAR(20) CHARACTER SET utf8mb4)
    SQL SECURITY INVOKER NO SQL
whole: BEGIN
    DECLARE v_never BIGINT DEFAULT 9223372036854775807;
    DECLARE v_late_ms BIGINT DEFAULT 60000;
    DECLARE v_known TINYINT DEFAULT p_version <> 0;
    DECLARE v_same TINYINT DEFAULT
        p_version <> 0 AND CAST(p_stored AS BINARY) = CAST(p_schedule AS BINARY);
    DECLARE v_lost TINYINT DEFAULT p_running <> 0 AND NOT p_not_started;
    DECLARE v_next BIGINT;                  -- the schedule's next due time
    DECLARE v_previous BIGINT;              -- the schedule's latest due time
    DECLARE v_repeat_ms BIGINT;             -- when to claim the last due time again
    -- planned while the clock showed a time that is still in the future
    DECLARE v_misplanned TINYINT DEFAULT 0;
    DECLARE v_requested, v_comes TINYINT DEFAULT 0;
    DECLARE v_before, v_own_next BIGINT;
    {schedule_line};

    SET p_act = NULL, p_until_ms = NULL, p_instant = NULL, p_due = NULL, p_repeats = 0,
        p_former = 0, p_outcome = IF(p_broken, 'broken', 'lost');
    CALL rowlock_take_schedule(p_schedule, {schedule_taken});
    IF v_period IS NULL AND v_zone IS NULL THEN
        LEAVE whole;
    END IF;
    CALL rowlock_due_of({schedule_taken}, p_now_ms, 1, v_next);
    CALL rowlock_due_of({schedule_taken}, p_now_ms, -1, v_previous);
    IF v_same AND p_planned > v_next THEN
        CALL rowlock_due_of({schedule_taken}, v_next, 1, v_before);
        CALL rowlock_due_of({schedule_taken}, p_now_ms + LEAST(v_before - v_next, 3600000), 1,
                            v_before);
        SET v_misplanned = p_planned > v_before;
    END IF;
    IF NOT v_known THEN
        SET p_due = IF(v_period IS NOT NULL, v_previous, v_next);
    ELSEIF v_misplanned THEN
        SET p_due = v_next;
    ELSEIF v_same THEN
        SET p_due = p_planned;
    ELSE
        CALL rowlock_due_of({schedule_taken}, GREATEST(p_last, p_now_ms - v_late_ms), 1, p_due);
    END IF;
    SET v_repeat_ms = IF(v_known AND (p_not_started
                                      OR p_failed <> 0 AND p_tries < GREATEST(p_retry, 0)),
                         GREATEST(p_failed + p_backoff_ms, p_last), v_never);
    IF p_held THEN
        SET p_act = 0, p_until_ms = LEAST(p_free_ms, v_next);
    ELSEIF p_due <= p_now_ms THEN
        IF v_same THEN
            CALL rowlock_due_of({schedule_taken}, p_due, -1, v_before);
            SET v_requested = v_before <> p_due;
        END IF;
        SET v_comes = 1;
        -- a node with other time-zone data planned it: leave it to such a node for a minute
        IF v_requested AND v_period IS NULL AND v_zone <> 'UTC' AND p_due MOD v_late_ms = 0 THEN
            CALL rowlock_due_of({schedule_taken}, p_due, 1, v_own_next);
            IF p_now_ms - p_due <= v_late_ms THEN
                SET p_act = 0, p_until_ms = p_due + v_late_ms + 1;
                LEAVE whole;
            END IF;
            SET v_comes = v_own_next <= p_now_ms
                          OR v_before <> v_never AND p_due - v_before < v_own_next - p_due;
        END IF;
        SET p_former = IF(v_lost, p_running, 0),
            p_instant = IF(v_previous = v_never, p_due, GREATEST(v_previous, p_due));
        IF NOT v_comes THEN
            SET p_act = IF(p_running <> 0, 4, 2), p_due = v_own_next;
        ELSEIF p_skips_missed AND v_known AND p_now_ms - p_instant > v_late_ms
               AND NOT v_requested THEN
            SET p_act = IF(p_running <> 0, 4, 2), p_due = v_next;
        ELSE
            SET p_act = 3, p_due = v_next;
        END IF;
    ELSEIF v_lost THEN                      -- its run left no lease
        IF NOT p_broken AND p_tries < IF(p_retry < 0, 1, p_retry) AND NOT v_misplanned THEN
            IF p_last > p_now_ms THEN
                SET p_act = 0, p_until_ms = p_last;
            ELSE
                SET p_act = 3, p_instant = p_last, p_repeats = p_tries + 1, p_former = p_running;
            END IF;
        ELSE
            SET p_act = 4, p_former = p_running;
        END IF;
    ELSEIF v_repeat_ms <= p_now_ms THEN
        SET p_act = 3, p_instant = p_last, p_repeats = p_tries + (NOT p_not_started);
    ELSEIF NOT v_known OR NOT p_not_started AND (NOT v_same OR v_misplanned) THEN
        SET p_act = 2;
    ELSE
        SET v_before = NULL;
        IF p_due <> v_never AND p_due - p_now_ms <= p_early_ms THEN
            CALL rowlock_due_of({schedule_taken}, p_due - 1, -1, v_before);
        END IF;
        IF v_before = v_never OR p_due - p_now_ms <= (p_due - v_before) DIV 4 THEN
            SET p_act = 1, p_until_ms = p_due;
        ELSE
            SET p_act = 0, p_until_ms = LEAST(v_repeat_ms, p_due);
        END IF;
    END IF;
END//

-- For the C library: the decision about a job in its state.
CREATE OR REPLACE PROCEDURE rowlock_job_decision(
    {job_rules})
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    {job_variables};

    {decide_job p_name};
    SELECT v_act AS act, v_now_ms AS now_ms, v_version AS version, v_held AS held,
           COALESCE(v_until_ms, 0) AS until_ms, COALESCE(v_instant, 0) AS instant,
           COALESCE(v_due, 0) AS due, v_repeats AS repeats, v_former AS former,
           v_outcome = 'broken' AS broken, v_stored AS schedule;
END//

{end_of_piece};
