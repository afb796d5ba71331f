-- rowlock on MariaDB, jobs: commands that exactly one node of a farm runs when they are due. The
-- nodes know schedules and commands; the database records only due times and runs. A job is claimed
-- together with the lease of job:NAME, in one transaction (dialect.h, job_claim). Times are
-- milliseconds since 1970 UTC; 9223372036854775807: never. Lock order of rows: lease, job, run. Run
-- lease.sql first. dialect.h or sql/postgresql/schema/job.sql describes procedures without a
-- comment of their own.

{own_mode};

CREATE TABLE IF NOT EXISTS rowlock_job (
    name VARBINARY(255) NOT NULL PRIMARY KEY,
    version BIGINT NOT NULL,                -- increases with every change
    -- as configured on the node that changed the row
    schedule VARCHAR(400) CHARACTER SET utf8mb4 NOT NULL,
    due BIGINT NOT NULL,                    -- the next due time that no node has claimed
    last BIGINT NOT NULL DEFAULT 0,         -- the due time that was claimed last
    repeats INT NOT NULL DEFAULT 0,         -- the retry number of its run
    failed BIGINT NOT NULL DEFAULT 0,       -- when its run failed or did not start; 0: neither
    running BIGINT NOT NULL DEFAULT 0,      -- the token of its run; 0: it has ended. A run that was
                                            -- lost or not started stays until the next claim
    -- the number of ended runs by outcome, including those that the history has no longer
    runs_done BIGINT NOT NULL DEFAULT 0,
    runs_failed BIGINT NOT NULL DEFAULT 0,
    runs_timed_out BIGINT NOT NULL DEFAULT 0,
    runs_broken BIGINT NOT NULL DEFAULT 0,
    runs_lost BIGINT NOT NULL DEFAULT 0,
    runs_late BIGINT NOT NULL DEFAULT 0,
    runs_not_started BIGINT NOT NULL DEFAULT 0,
    last_success BIGINT NOT NULL DEFAULT 0  -- when the latest run that is done ended; 0: never
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS rowlock_run (
    token BIGINT NOT NULL PRIMARY KEY,      -- of its lease
    job VARBINARY(255) NOT NULL,
    node VARCHAR(255) CHARACTER SET utf8mb4 NOT NULL,
    pid BIGINT NOT NULL,
    due BIGINT NOT NULL,                    -- the due time of the run
    repeats INT NOT NULL,
    started BIGINT NOT NULL,
    taken_until BIGINT NOT NULL,            -- minimum hold: the name stays taken until then
    finished BIGINT NOT NULL DEFAULT 0,
    outcome ENUM('running', 'done', 'failed', 'timed out', 'broken', 'lost', 'late', 'not started')
        NOT NULL DEFAULT 'running',
    `exit` INT NOT NULL DEFAULT 0,          -- 128 + N: terminated by signal N
    output VARCHAR(2048) CHARACTER SET utf8mb4,
    KEY rowlock_run_job (job, token)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

DELIMITER //

CREATE OR REPLACE PROCEDURE rowlock_clock(OUT p_now_ms BIGINT)
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    CALL rowlock_real_time();
    SET p_now_ms = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', utc_timestamp(6)) DIV 1000;
END//

-- p_was and p_finished are of the run before the end, read after its job was locked.
CREATE OR REPLACE PROCEDURE rowlock_count_run(
    IN p_job VARBINARY(255), IN p_was VARCHAR(20) CHARACTER SET utf8mb4, IN p_finished BIGINT,
    IN p_outcome VARCHAR(20) CHARACTER SET utf8mb4, IN p_now_ms BIGINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    IF p_finished = 0 OR p_was <> p_outcome THEN
        UPDATE rowlock_job
           SET runs_done = runs_done + (p_outcome = 'done'),
               runs_failed = runs_failed + (p_outcome = 'failed'),
               runs_timed_out = runs_timed_out + (p_outcome = 'timed out'),
               runs_broken = runs_broken + (p_outcome = 'broken'),
               runs_lost = runs_lost + (p_outcome = 'lost'),
               runs_late = runs_late + (p_outcome = 'late'),
               runs_not_started = runs_not_started + (p_outcome = 'not started'),
               last_success = IF(p_outcome = 'done', p_now_ms, last_success)
         WHERE name = p_job;
    END IF;
END//

CREATE OR REPLACE PROCEDURE rowlock_end_lost_run(
    IN p_former BIGINT, IN p_outcome VARCHAR(20) CHARACTER SET utf8mb4)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_now_ms, v_finished BIGINT;
    DECLARE v_job VARBINARY(255);
    DECLARE v_was VARCHAR(20) CHARACTER SET utf8mb4;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;

    CALL rowlock_clock(v_now_ms);
    SELECT job, outcome, finished INTO v_job, v_was, v_finished FROM rowlock_run
     WHERE token = p_former AND outcome IN ('running', 'broken') FOR UPDATE;
    IF v_job IS NOT NULL THEN
        UPDATE rowlock_run SET outcome = p_outcome, finished = v_now_ms WHERE token = p_former;
        CALL rowlock_count_run(v_job, v_was, v_finished, p_outcome, v_now_ms);
    END IF;
END//

-- Deletes all runs of a job except the latest p_history.
CREATE OR REPLACE PROCEDURE rowlock_trim_runs(IN p_name VARBINARY(255), IN p_history INT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_token BIGINT;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;

    SELECT token INTO v_token FROM rowlock_run WHERE job = p_name
     ORDER BY token DESC LIMIT 1 OFFSET p_history;
    IF v_token IS NOT NULL THEN
        DELETE FROM rowlock_run WHERE job = p_name AND token <= v_token;
    END IF;
END//

CREATE OR REPLACE PROCEDURE rowlock_claim_job(
    {claim_parameters})
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_claimed INT DEFAULT 0;
    DECLARE v_now_ms BIGINT;

    {claim_job};
    SELECT v_claimed AS claimed;
END//

CREATE OR REPLACE PROCEDURE rowlock_end_expired(IN p_token BIGINT, OUT p_ended TINYINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_name VARBINARY(255);
    DECLARE v_locked INT DEFAULT 0;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;

    SELECT name INTO v_name FROM rowlock_name WHERE token = p_token AND held = 1;
    IF v_name IS NOT NULL THEN
        SELECT count(*) INTO v_locked FROM rowlock_name FORCE INDEX (rowlock_name_fence)
         WHERE name = v_name AND token = p_token AND held = 1 AND expires <= utc_timestamp(6)
           FOR UPDATE SKIP LOCKED;
    ELSE
        SELECT count(*) INTO v_locked FROM rowlock_heartbeat
         WHERE token = p_token AND expires <= utc_timestamp(6) FOR UPDATE SKIP LOCKED;
        IF v_locked > 0 THEN
            SELECT count(*) INTO v_locked FROM rowlock_lease
             WHERE token = p_token FOR UPDATE SKIP LOCKED;
        END IF;
    END IF;
    IF v_locked > 0 THEN
        CALL rowlock_drop(p_token, v_name);
    END IF;
    SELECT count(*) = 0 INTO p_ended FROM rowlock_held WHERE token = p_token;
END//

CREATE OR REPLACE PROCEDURE rowlock_plan_job(
    {plan_parameters})
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    {plan_job};
    SELECT v_planned AS planned;
END//

CREATE OR REPLACE PROCEDURE rowlock_hasten_job(IN p_name VARBINARY(255), IN p_version BIGINT,
                                               IN p_due BIGINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_planned INT DEFAULT 0;
    {own_transaction};
    UPDATE rowlock_job SET version = version + 1, due = p_due
     WHERE name = p_name AND version = p_version;
    SET v_planned = ROW_COUNT();
    COMMIT AND NO CHAIN NO RELEASE;
    SELECT v_planned AS planned;
END//

-- Ends a run whose lease exists, for rowlock_finish_job; p_stop: the lease was broken.
CREATE OR REPLACE PROCEDURE rowlock_end_run(
    IN p_token BIGINT, IN p_stop TINYINT, IN p_outcome VARCHAR(20) CHARACTER SET utf8mb4,
    IN p_exit INT, IN p_output VARCHAR(2048) CHARACTER SET utf8mb4)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_now_ms, v_until BIGINT DEFAULT 0;
    DECLARE v_runs INT;
    DECLARE v_pending TINYINT DEFAULT p_outcome IN ('lost', 'not started') AND NOT p_stop;
    DECLARE v_finished BIGINT;
    DECLARE v_was VARCHAR(20) CHARACTER SET utf8mb4;
    DECLARE v_job VARBINARY(255);

    CALL rowlock_clock(v_now_ms);
    SELECT count(*), COALESCE(MAX(taken_until), 0), MAX(job), COALESCE(MAX(outcome), ''),
           COALESCE(MAX(finished), 0)
      INTO v_runs, v_until, v_job, v_was, v_finished FROM rowlock_run WHERE token = p_token;
    CALL rowlock_check_answer(v_runs);
    IF v_until > v_now_ms AND NOT p_stop AND NOT v_pending THEN
        CALL rowlock_set_end(p_token, CONCAT('job:', v_job),
                             '1970-01-01' + INTERVAL v_until * 1000 MICROSECOND, 0, v_runs);
    ELSE
        CALL rowlock_drop(p_token, CONCAT('job:', v_job));
    END IF;
    UPDATE rowlock_job
       SET version = version + 1, running = IF(v_pending, running, 0),
           failed = IF(p_outcome IN ('done', 'lost') OR p_stop, 0, v_now_ms)
     WHERE name = v_job AND running = p_token;
    UPDATE rowlock_run
       SET outcome = IF(p_stop, 'broken', p_outcome), finished = v_now_ms, `exit` = p_exit,
           output = p_output
     WHERE token = p_token;
    CALL rowlock_count_run(v_job, v_was, v_finished, IF(p_stop, 'broken', p_outcome), v_now_ms);
END//

-- Ends a run whose lease is gone: only the history records the end.
CREATE OR REPLACE PROCEDURE rowlock_end_late(
    IN p_token BIGINT, IN p_outcome VARCHAR(20) CHARACTER SET utf8mb4, IN p_exit INT,
    IN p_output VARCHAR(2048) CHARACTER SET utf8mb4, OUT p_status INT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_now_ms, v_finished BIGINT;
    DECLARE v_outcome, v_becomes VARCHAR(20) CHARACTER SET utf8mb4;
    DECLARE v_job VARBINARY(255);
    DECLARE v_jobs, v_runs, v_pending INT;

    CALL rowlock_clock(v_now_ms);
    SELECT MAX(job) INTO v_job FROM rowlock_run WHERE token = p_token;
    -- a claim may be ending this run
    SELECT count(*) INTO v_jobs FROM rowlock_job WHERE name = v_job FOR UPDATE;
    SELECT count(*), COALESCE(MAX(outcome), ''), COALESCE(MAX(finished), 0)
      INTO v_runs, v_outcome, v_finished FROM rowlock_run WHERE token = p_token FOR UPDATE;
    SELECT count(*) INTO v_pending FROM rowlock_run r JOIN rowlock_job j
        ON j.name = r.job AND j.running = r.token
     WHERE r.token = p_token AND r.outcome = 'lost';
    CALL rowlock_check_answer(v_jobs + v_runs + v_pending);
    SET v_becomes = CASE WHEN v_outcome = 'broken' THEN v_outcome
                         WHEN p_outcome = 'not started' THEN p_outcome ELSE 'late' END;
    IF v_outcome IN ('running', 'lost', 'broken') AND NOT v_pending THEN
        UPDATE rowlock_run
           SET outcome = v_becomes, finished = v_now_ms, `exit` = p_exit, output = p_output
         WHERE token = p_token;
        CALL rowlock_count_run(v_job, v_outcome, v_finished, v_becomes, v_now_ms);
    END IF;
    UPDATE rowlock_job j JOIN rowlock_run r ON r.job = j.name SET j.version = j.version + 1
     -- a node that decided before this must decide again
     WHERE p_outcome = 'not started' AND r.token = p_token AND j.running = p_token;
    SET p_status = CASE WHEN v_outcome IN ('done', 'failed', 'timed out', 'not started') THEN 0
                        WHEN v_outcome = 'broken' THEN 14
                        WHEN v_pending THEN 0          -- recorded before: the reply was lost
                        WHEN v_outcome IN ('running', 'lost') AND p_outcome = 'not started' THEN 0
                        ELSE 8 END;
END//

CREATE OR REPLACE PROCEDURE rowlock_finish_job(
    IN p_token BIGINT, IN p_outcome VARCHAR(20) CHARACTER SET utf8mb4, IN p_exit INT,
        IN p_output VARCHAR(2048) CHARACTER SET utf8mb4)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    {finish_job};
    SELECT v_status AS number,
           RELEASE_LOCK(CONCAT('rowlock:', MD5(DATABASE()), ':', p_token)) AS unlocked;
END//

CREATE OR REPLACE PROCEDURE rowlock_forget_job(IN p_name VARBINARY(255))
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_running, v_live, v_left BIGINT;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    {own_transaction};
    SELECT running INTO v_running FROM rowlock_job WHERE name = p_name FOR UPDATE;
    SELECT count(*) INTO v_live FROM rowlock_alive
     WHERE token = v_running AND expires > utc_timestamp(6);
    IF v_running IS NOT NULL AND v_live = 0 THEN
        {delete_surely rowlock_job WHERE name = p_name};
        REPEAT
            DELETE FROM rowlock_run WHERE job = p_name;
            SELECT count(*) INTO v_left FROM rowlock_run WHERE job = p_name;
        UNTIL v_left = 0 END REPEAT;
    END IF;
    COMMIT AND NO CHAIN NO RELEASE;
    SELECT CASE WHEN v_running IS NULL THEN 0 WHEN v_live > 0 THEN 2 ELSE 1 END AS number;
END//

CREATE OR REPLACE PROCEDURE rowlock_job_state(IN p_name VARBINARY(255))
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE v_now_ms BIGINT;

    CALL rowlock_require_no_transaction();
    CALL rowlock_clock(v_now_ms);
    SELECT {state_columns}
      {state_rows};
    COMMIT AND NO CHAIN NO RELEASE;
END//

CREATE OR REPLACE PROCEDURE rowlock_list_jobs(IN p_name VARBINARY(255))
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    CALL rowlock_require_no_transaction();
    CALL rowlock_real_time();
{job_list};
    COMMIT AND NO CHAIN NO RELEASE;
END//

CREATE OR REPLACE PROCEDURE rowlock_list_runs(IN p_name VARBINARY(255))
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    CALL rowlock_require_no_transaction();
    SELECT r.token, r.node, r.pid, r.due, r.repeats, r.started, r.finished,
           CASE WHEN r.outcome = 'running' AND b.token IS NULL THEN 'lost'
                WHEN r.outcome = 'broken' AND b.token IS NOT NULL THEN 'running'
                ELSE CAST(r.outcome AS CHAR) END AS outcome, r.exit, r.output
      FROM rowlock_run r
      LEFT JOIN rowlock_alive b ON b.token = r.token AND b.expires > utc_timestamp(6)
     WHERE r.job = p_name ORDER BY r.token DESC;
    COMMIT AND NO CHAIN NO RELEASE;
END//

{end_of_piece};
