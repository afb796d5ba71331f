-- rowlock on MariaDB, jobs for clients without the C library. Run job_decide.sql, door.sql and
-- request.sql first.
--
--   rowlock_claim(job, schedule, owner, ttl_ms, zone, retry, backoff_ms, missed, at_least_ms,
--                 history, host, pid, program, note, token, due_ms, repeats, state, pause_ms, lost,
--                 former_schedule), outside a transaction
--   rowlock_claim_row: the same with the answer as a result set
--   rowlock_finish(token, outcome, output, exit, released), outside a transaction

{own_mode};

DELIMITER //

-- The same as rowlock_plan_job, rowlock_claim_job and rowlock_finish_job, without a result set.
CREATE OR REPLACE PROCEDURE rowlock_plan_run({plan_parameters}, OUT p_planned INT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    {plan_job};
    SET p_planned = v_planned;
END//

CREATE OR REPLACE PROCEDURE rowlock_claim_run({claim_parameters}, OUT p_claimed INT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_claimed INT DEFAULT 0;
    DECLARE v_now_ms BIGINT;

    {claim_job};
    SET p_claimed = v_claimed;
END//

CREATE OR REPLACE PROCEDURE rowlock_finish_run(
    IN p_token BIGINT, IN p_outcome VARCHAR(20) CHARACTER SET utf8mb4, IN p_exit INT,
    IN p_output VARCHAR(2048) CHARACTER SET utf8mb4, OUT p_status INT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    {finish_job};
    SET p_status = v_status;
END//

-- One round of a claim. p_state NULL: another node has changed the job meanwhile, decide again.
CREATE OR REPLACE PROCEDURE rowlock_claim_round(
    {job_rules}, IN p_owner VARBINARY(255),
    IN p_ttl_ms BIGINT, IN p_at_least BIGINT, IN p_history INT,
    IN p_host VARCHAR(255) CHARACTER SET utf8mb4, IN p_pid BIGINT,
    IN p_program VARCHAR(255) CHARACTER SET utf8mb4, IN p_note VARCHAR(1024) CHARACTER SET utf8mb4,
    OUT p_token BIGINT, OUT p_due BIGINT, OUT p_repeats INT, INOUT p_lost BIGINT,
    OUT p_state VARCHAR(20) CHARACTER SET utf8mb4, OUT p_pause_ms BIGINT,
    INOUT p_former_schedule VARCHAR(400) CHARACTER SET utf8mb4)
    SQL SECURITY INVOKER MODIFIES SQL DATA
whole: BEGIN
    DECLARE v_held_ms BIGINT DEFAULT 5000;      -- its end may come at any time
    DECLARE v_lock, v_name VARBINARY(255) DEFAULT CONCAT('job:', p_name);
    DECLARE v_detail VARCHAR(400) CHARACTER SET utf8mb4;
    DECLARE v_token, v_number BIGINT;
    DECLARE v_status TINYINT;
    DECLARE v_done INT;
    {job_variables};
    DECLARE EXIT HANDLER FOR 1213               -- decide again
    BEGIN
        ROLLBACK AND NO CHAIN NO RELEASE;
        SET p_state = NULL, p_token = NULL;
    END;

    SET p_state = NULL, p_token = NULL, p_due = NULL, p_repeats = NULL, p_pause_ms = NULL;
    {describe_client};
    {decide_job p_name};
    IF v_act IS NULL OR v_act < 2 THEN
        SET p_state = IF(v_held, 'running', 'waiting'),
            p_pause_ms = LEAST(v_until_ms - v_now_ms, IF(v_held, v_held_ms, 60000));
    ELSEIF v_act <> 3 THEN
        CALL rowlock_plan_run(p_name, v_version, p_schedule, v_due, v_former, v_outcome, v_done);
        IF v_done THEN
            SET p_lost = IF(v_former <> 0 AND v_outcome = 'lost', v_former, p_lost);
        ELSEIF v_act = 4 THEN
            SET p_state = 'running', p_pause_ms = v_held_ms; -- a fence holds its lease
        END IF;
    ELSE
        CALL rowlock_grant_answer(CONCAT(HEX(v_lock), ':x:0:0'), p_owner, p_ttl_ms, 250, 0, 0,
                                  p_host, p_pid, p_program, p_note,
                                  v_status, v_name, v_token, v_number, v_detail);
        IF v_status IN (6, 7) THEN
            CALL rowlock_refuse(v_status, v_lock, 0, v_detail);
        ELSEIF v_status <> 0 THEN
            SET p_state = 'running', p_pause_ms = v_held_ms;
            LEAVE whole;
        END IF;
        CALL rowlock_claim_run(p_name, v_token, v_version, p_schedule, v_instant, v_due, v_repeats,
                               v_former, v_outcome, p_host, COALESCE(p_pid, 0), p_at_least,
                               p_history, v_done);
        IF NOT v_done THEN
            ROLLBACK AND NO CHAIN NO RELEASE;   -- gives the lease back
            LEAVE whole;
        END IF;
        COMMIT AND NO CHAIN NO RELEASE;
        SET p_token = v_token, p_due = v_instant, p_repeats = v_repeats, p_state = 'claimed',
            p_pause_ms = 0,
            p_lost = IF(v_former <> 0 AND v_outcome = 'lost', v_former, p_lost);
    END IF;
    IF CAST(v_stored AS BINARY) <> CAST(p_schedule AS BINARY) THEN
        SET p_former_schedule = COALESCE(p_former_schedule, v_stored);
    END IF;
END//

CREATE OR REPLACE PROCEDURE rowlock_claim(
    IN job LONGTEXT CHARACTER SET utf8mb4, IN schedule LONGTEXT CHARACTER SET utf8mb4,
    IN owner VARCHAR(255) CHARACTER SET utf8mb4, IN ttl_ms BIGINT,
    IN zone VARCHAR(255) CHARACTER SET utf8mb4, IN retry INT, IN backoff_ms BIGINT,
    IN missed VARCHAR(255) CHARACTER SET utf8mb4, IN at_least_ms BIGINT, IN history INT,
    IN host VARCHAR(255) CHARACTER SET utf8mb4, IN pid BIGINT,
    IN program VARCHAR(255) CHARACTER SET utf8mb4, IN note VARCHAR(1024) CHARACTER SET utf8mb4,
    OUT token BIGINT, OUT due_ms BIGINT, OUT repeats INT,
    OUT state VARCHAR(20) CHARACTER SET utf8mb4, OUT pause_ms BIGINT, OUT lost BIGINT,
    OUT former_schedule VARCHAR(400) CHARACTER SET utf8mb4)
    SQL SECURITY INVOKER MODIFIES SQL DATA
    COMMENT 'Claims a job if it is due: state is claimed, and token that of the lease of job:NAME, due_ms the due time of the run and repeats the number of the retry. Otherwise state is running or waiting: call again after pause_ms. Renew the lease, and end the run by rowlock_finish. schedule: every 5m, or a cron line, in the time zone zone; owner: a random text, the same if the call is repeated. NULL is the usual value of the other arguments. lost: the token of the previous run, if this call found it lost; former_schedule: the schedule of another node, if it differs. Call it outside a transaction.'
BEGIN
    DECLARE v_want LONGTEXT CHARACTER SET ascii;
    DECLARE v_job, v_lock, v_owner VARBINARY(255);
    DECLARE v_normal VARCHAR(400) CHARACTER SET utf8mb4;
    DECLARE v_token, v_due BIGINT;
    DECLARE v_status TINYINT;
    DECLARE v_rounds, v_repeats INT DEFAULT 0;
    {ends_own};
    SET ttl_ms = COALESCE(ttl_ms, 30000), backoff_ms = COALESCE(backoff_ms, 10000),
        missed = COALESCE(missed, 'once'), at_least_ms = COALESCE(at_least_ms, 0),
        history = COALESCE(history, 100);
    CALL rowlock_pack_lease(CONCAT('job:', job), 'exclusive', NULL, v_want);
    CALL rowlock_check_ttl(ttl_ms);
    CALL rowlock_check_owner(owner);
    IF CAST(missed AS BINARY) NOT IN ('once', 'skip') OR backoff_ms NOT BETWEEN 0 AND 31622400000
       OR at_least_ms NOT BETWEEN 0 AND 31622400000 OR history NOT BETWEEN 1 AND 1000000
       OR retry < 0 THEN
        SIGNAL SQLSTATE 'RL003' SET MYSQL_ERRNO = 30003, MESSAGE_TEXT =
            'rowlock: missed is once or skip; backoff_ms, at_least_ms: up to 366 days; history: 1 '
            'to 1000000; retry: 0 or more, or NULL';
    END IF;
    SET v_job = CONVERT(job USING utf8mb4), v_owner = owner;
    SET v_lock = CONCAT('job:', v_job);
    CALL rowlock_require_no_transaction();
    CALL rowlock_read_schedule(schedule, zone, v_job, v_normal);
    -- an earlier call, whose reply was lost, may have claimed it
    SELECT MAX(r.token), MAX(r.due), MAX(r.repeats) INTO v_token, v_due, v_repeats
      FROM rowlock_held l JOIN rowlock_run r ON r.token = l.token AND r.outcome = 'running'
     WHERE l.name = v_lock AND l.owner = v_owner;
    COMMIT AND NO CHAIN NO RELEASE;
    SET v_status = 8, lost = NULL, former_schedule = NULL, state = NULL;
    IF v_token IS NOT NULL THEN
        CALL rowlock_extend(v_token, ttl_ms, v_lock, v_owner, v_status);
    END IF;
    IF v_status = 0 THEN
        SET token = v_token, due_ms = v_due, repeats = v_repeats, state = 'claimed', pause_ms = 0;
    END IF;
    WHILE state IS NULL AND v_rounds < 100 DO
        SET v_rounds = v_rounds + 1;
        CALL rowlock_claim_round(v_job, v_normal, 0, COALESCE(retry, -1), backoff_ms,
                                 missed = 'skip', v_owner, ttl_ms, at_least_ms, history, host, pid,
                                 program, note, token, due_ms, repeats, lost, state, pause_ms,
                                 former_schedule);
    END WHILE;
    -- so much activity: other nodes take care of it
    SET state = COALESCE(state, 'running'),
        -- a user may make it due at any time
        pause_ms = LEAST(60000, GREATEST(0, COALESCE(pause_ms, 5000)));
    {restores_own};
END//

CREATE OR REPLACE PROCEDURE rowlock_claim_row(
    IN job LONGTEXT CHARACTER SET utf8mb4, IN schedule LONGTEXT CHARACTER SET utf8mb4,
    IN owner VARCHAR(255) CHARACTER SET utf8mb4, IN ttl_ms BIGINT,
    IN zone VARCHAR(255) CHARACTER SET utf8mb4, IN retry INT, IN backoff_ms BIGINT,
    IN missed VARCHAR(255) CHARACTER SET utf8mb4, IN at_least_ms BIGINT, IN history INT,
    IN host VARCHAR(255) CHARACTER SET utf8mb4, IN pid BIGINT,
    IN program VARCHAR(255) CHARACTER SET utf8mb4, IN note VARCHAR(1024) CHARACTER SET utf8mb4)
    SQL SECURITY INVOKER MODIFIES SQL DATA
    COMMENT 'Same as rowlock_claim, but returns token, due_ms, repeats, state, pause_ms, lost and former_schedule as a result set of one row, so that a call is one statement.'
BEGIN
    DECLARE v_token, v_due_ms, v_pause_ms, v_lost BIGINT;
    DECLARE v_repeats INT;
    DECLARE v_state VARCHAR(20) CHARACTER SET utf8mb4;
    DECLARE v_former_schedule VARCHAR(400) CHARACTER SET utf8mb4;

    CALL rowlock_claim(job, schedule, owner, ttl_ms, zone, retry, backoff_ms, missed, at_least_ms,
                       history, host, pid, program, note, v_token, v_due_ms, v_repeats, v_state,
                       v_pause_ms, v_lost, v_former_schedule);
    SELECT v_token AS token, v_due_ms AS due_ms, v_repeats AS repeats, v_state AS state,
           v_pause_ms AS pause_ms, v_lost AS lost, v_former_schedule AS former_schedule;
END//

CREATE OR REPLACE PROCEDURE rowlock_finish(
    IN token BIGINT, IN outcome VARCHAR(255) CHARACTER SET utf8mb4,
    IN output LONGTEXT CHARACTER SET utf8mb4, IN exit_ INT, OUT released TINYINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
    COMMENT 'Ends a run that rowlock_claim began: releases its lease and records the result. released: 1; 0 if the lease was lost or broken before, which the history records. outcome: done, failed, timed out, lost or not started. output: the last 2048 bytes are kept, or NULL; exit_: NULL is 0 for done, else 1. Call it outside a transaction.'
BEGIN
    DECLARE v_status INT;
    {ends_own};
    IF outcome IS NULL OR CAST(outcome AS BINARY) NOT IN ('done', 'failed', 'timed out', 'lost',
                                                          'not started') THEN
        SIGNAL SQLSTATE 'RL003' SET MYSQL_ERRNO = 30003, MESSAGE_TEXT =
            'rowlock: outcome is done, failed, timed out, lost or not started';
    END IF;
    SET output = RIGHT(output, 2048);
    WHILE LENGTH(output) > 2048 DO
        SET output = RIGHT(output, CHAR_LENGTH(output)
                                   - GREATEST(1, (LENGTH(output) - 2048) DIV 4));
    END WHILE;
    CALL rowlock_finish_run(COALESCE(token, 0), outcome, COALESCE(exit_, outcome <> 'done'), output,
                            v_status);
    SET released = v_status = 0;
    {restores_own};
END//

{end_of_piece};
