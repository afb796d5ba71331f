-- rowlock on MariaDB, subjects: data that is refreshed exactly once when it is stale, while all its
-- users wait. A refresh holds the lock subject:NAME exclusively, in a transaction or as a lease;
-- users hold it shared. The row shows the state of the refresh to people and to the next caller.
-- Times are milliseconds since 1970 UTC. Lock order of rows: lease, then subject. Run job.sql
-- first.

{own_mode};

CREATE TABLE IF NOT EXISTS rowlock_subject (
    name VARBINARY(255) NOT NULL PRIMARY KEY,
    version BIGINT NOT NULL DEFAULT 0,      -- increases with each refresh that begins
    status ENUM('NONE', 'PROCESSING', 'COMPLETE', 'ERROR') NOT NULL DEFAULT 'NONE',
    description VARCHAR(1024) NULL,
    began BIGINT NULL,                      -- of the last refresh,
    ended BIGINT NULL,
    basis BIGINT NULL,                      -- start of the refresh that made the present data
    updated BIGINT NULL,
    host VARCHAR(255) NULL,
    pid BIGINT NULL,
    program VARCHAR(255) NULL,
    token BIGINT NOT NULL DEFAULT 0,        -- of its lease; 0: it runs in a transaction
    error VARCHAR(2048) NULL,
    `exit` INT NULL                         -- 128 + N: terminated by signal N
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Data of a refresh that began no later than this counts as stale. It is a separate table because a
-- refresh in a transaction has the row above locked.
CREATE TABLE IF NOT EXISTS rowlock_expiry (
    name VARBINARY(255) NOT NULL PRIMARY KEY,
    expired BIGINT NOT NULL
) ENGINE = InnoDB;

DELIMITER //

-- p_stale 1: the data is older than p_max_age_ms (< 0: any age is fine), has expired, or no refresh
-- was completed. Data more than p_max_age_ms in the future is stale too: the clock was set back.
-- NULL: the subject does not exist. p_age_ms NULL: never refreshed.
CREATE OR REPLACE PROCEDURE rowlock_subject_judge(
    IN p_name VARBINARY(255), IN p_max_age_ms BIGINT, OUT p_stale TINYINT, OUT p_age_ms BIGINT)
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE v_now_ms BIGINT;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;

    CALL rowlock_clock(v_now_ms);
    SELECT IF(s.status = 'COMPLETE' AND s.basis > COALESCE(e.expired, -1)
              AND (p_max_age_ms < 0 OR GREATEST(v_now_ms - s.updated, 0) < p_max_age_ms
                  AND s.updated - v_now_ms <= p_max_age_ms), 0, 1),
           GREATEST(v_now_ms - s.updated, 0)
      INTO p_stale, p_age_ms
      FROM rowlock_subject s LEFT JOIN rowlock_expiry e ON e.name = s.name
     WHERE s.name = p_name;
END//

-- The same before any lock: a caller that finds fresh data waits for no lock. An unknown subject
-- gets a row, so that no transaction needs to insert one.
CREATE OR REPLACE PROCEDURE rowlock_subject_look(IN p_name VARBINARY(255), IN p_max_age_ms BIGINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_stale TINYINT;
    DECLARE v_age_ms BIGINT;
    {handler_rolls_back};

    CALL rowlock_require_no_transaction();
    CALL rowlock_subject_judge(p_name, p_max_age_ms, v_stale, v_age_ms);
    IF v_stale IS NULL THEN
        INSERT IGNORE INTO rowlock_subject (name) VALUES (p_name);
        SET v_stale = 1;
    END IF;
    COMMIT AND NO CHAIN NO RELEASE;
    SELECT v_stale AS stale, v_age_ms AS age_ms;
END//

-- Begins a refresh for the C library, with the answer as a result set.
CREATE OR REPLACE PROCEDURE rowlock_subject_begin(
    IN p_name VARBINARY(255), IN p_max_age_ms BIGINT, IN p_token BIGINT,
    IN p_description VARCHAR(1024) CHARACTER SET utf8mb4,
        IN p_host VARCHAR(255) CHARACTER SET utf8mb4,
    IN p_pid BIGINT, IN p_program VARCHAR(255) CHARACTER SET utf8mb4)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    {begin_subject};
    SELECT v_stale AS stale, v_age_ms AS age_ms, version FROM rowlock_subject WHERE name = p_name;
END//

-- The same for rowlock_refresh.
CREATE OR REPLACE PROCEDURE rowlock_begin_subject(
    IN p_name VARBINARY(255), IN p_max_age_ms BIGINT, IN p_token BIGINT,
    IN p_description VARCHAR(1024) CHARACTER SET utf8mb4,
        IN p_host VARCHAR(255) CHARACTER SET utf8mb4,
    IN p_pid BIGINT, IN p_program VARCHAR(255) CHARACTER SET utf8mb4,
    OUT p_stale TINYINT, OUT p_version BIGINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    {begin_subject};
    SELECT v_stale, version INTO p_stale, p_version FROM rowlock_subject WHERE name = p_name;
    CALL rowlock_check_answer(p_version);
END//

-- Completes a refresh for the C library, with the status as a result set.
CREATE OR REPLACE PROCEDURE rowlock_subject_done(IN p_name VARBINARY(255), IN p_version BIGINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    {complete_subject};
    SELECT v_status AS status;
END//

-- The same for rowlock_refreshed.
CREATE OR REPLACE PROCEDURE rowlock_complete_subject(
    IN p_name VARBINARY(255), IN p_version BIGINT, OUT p_status TINYINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    {complete_subject};
    SET p_status = v_status;
END//

-- For SQL clients, in an open transaction. p_version NULL: the data is fresh. 0: not locked within
-- p_wait_ms. Otherwise the subject is locked until the transaction ends. An unknown subject gets
-- its row under the lock, so that no caller waits for another's row.
CREATE OR REPLACE PROCEDURE rowlock_refresh_within(
    IN p_name LONGTEXT CHARACTER SET utf8mb4, IN p_max_age_ms BIGINT, IN p_wait_ms BIGINT,
    IN p_host VARCHAR(255) CHARACTER SET utf8mb4, IN p_pid BIGINT,
    IN p_program VARCHAR(255) CHARACTER SET utf8mb4, OUT p_version BIGINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_want LONGTEXT CHARACTER SET ascii;
    DECLARE v_name VARBINARY(255);
    DECLARE v_stale, v_got TINYINT DEFAULT 1;
    DECLARE v_age_ms BIGINT;

    CALL rowlock_pack(p_name, 0, v_want);
    CALL rowlock_pack(CONCAT('subject:', p_name), 0, v_want);
    {require_transaction v_want};
    SET v_name = CONVERT(p_name USING utf8mb4);
    CALL rowlock_subject_judge(v_name, p_max_age_ms, v_stale, v_age_ms);
    IF NOT (v_stale <=> 0) THEN
        IF p_wait_ms IS NULL THEN
            CALL rowlock_exclusive(CONCAT('subject:', p_name));
        ELSE
            CALL rowlock_try_exclusive(CONCAT('subject:', p_name), p_wait_ms, v_got);
        END IF;
        IF v_got = 1 THEN
            {describe_client};
            CALL rowlock_begin_subject(v_name, p_max_age_ms, 0, NULL, p_host, p_pid, p_program,
                                       v_stale, p_version);
        ELSE
            SET p_version = 0;
        END IF;
    END IF;
    IF v_stale <=> 0 THEN
        SET p_version = NULL;
    END IF;
END//

CREATE OR REPLACE PROCEDURE rowlock_refresh(
    IN name LONGTEXT CHARACTER SET utf8mb4, IN max_age_ms BIGINT, IN wait_ms BIGINT,
    IN host VARCHAR(255) CHARACTER SET utf8mb4, IN pid BIGINT,
    IN program VARCHAR(255) CHARACTER SET utf8mb4, OUT version BIGINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
    COMMENT 'Begins a refresh in the open transaction, if the data is older than max_age_ms (NULL: fresh at any age). version: NULL if it is fresh; 0 if it was not locked within wait_ms (NULL: waits as rowlock_exclusive does). Otherwise refresh the data, and call rowlock_refreshed with this version before COMMIT. host, pid, program: shown to those who list the refreshes, or NULL.'
BEGIN
    DECLARE EXIT HANDLER FOR 1317 CALL rowlock_raise_interrupt(7, CONCAT('subject:', name), 1);
    DECLARE EXIT HANDLER FOR 1969 CALL rowlock_raise_interrupt(2, CONCAT('subject:', name), 1);

    CALL rowlock_refresh_within(name, IF(max_age_ms IS NULL, -1, GREATEST(max_age_ms, 0)), wait_ms,
                                host, pid, program, version);
END//

CREATE OR REPLACE PROCEDURE rowlock_refreshed(
    IN name LONGTEXT CHARACTER SET utf8mb4, IN version BIGINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
    COMMENT 'Completes the refresh that rowlock_refresh began in this transaction: the data is fresh from COMMIT on. Raises an error (RL005) in any other transaction: roll back.'
BEGIN
    DECLARE v_status TINYINT;
    DECLARE v_text VARCHAR(512) CHARACTER SET utf8mb4;

    CALL rowlock_complete_subject(CONVERT(name USING utf8mb4), version, v_status);
    IF v_status <> 0 THEN
        SET v_text = LEFT(CONCAT('rowlock: this transaction does not refresh \'',
            LEFT(COALESCE(name, 'NULL'), 100), '\': the one that began the refresh was committed '
            'or rolled back; roll back, and refresh it again'), 500);
        SIGNAL SQLSTATE 'RL005' SET MYSQL_ERRNO = 30005, MESSAGE_TEXT = v_text;
    END IF;
END//

-- Records a failure, after the refreshing transaction was rolled back: 1. 0: another caller has
-- refreshed it since, or failed. 2: the row is locked, by another refresh or because that rollback
-- is not finished.
CREATE OR REPLACE PROCEDURE rowlock_subject_fail(
    IN p_name VARBINARY(255), IN p_version BIGINT,
    IN p_description VARCHAR(1024) CHARACTER SET utf8mb4,
        IN p_host VARCHAR(255) CHARACTER SET utf8mb4,
    IN p_pid BIGINT, IN p_program VARCHAR(255) CHARACTER SET utf8mb4,
    IN p_error VARCHAR(2048) CHARACTER SET utf8mb4)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_now_ms BIGINT;
    DECLARE v_rows, v_mine INT DEFAULT 0;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    {handler_rolls_back};

    CALL rowlock_require_no_transaction();
    CALL rowlock_clock(v_now_ms);
    START TRANSACTION READ WRITE;
    SELECT 2 INTO v_rows FROM rowlock_subject
     WHERE name = p_name
       AND (version = p_version - 1
            OR (version = p_version AND status = 'PROCESSING' AND token = 0));
    SELECT 1 INTO v_mine FROM rowlock_subject
     WHERE name = p_name
       AND (version = p_version - 1
            OR (version = p_version AND status = 'PROCESSING' AND token = 0))
       FOR UPDATE SKIP LOCKED;
    IF v_mine THEN
        SET v_rows = 1;
        UPDATE rowlock_subject
           SET version = p_version, status = 'ERROR', began = NULL, ended = v_now_ms,
               description = COALESCE(p_description, description), host = p_host, pid = p_pid,
               program = p_program, token = 0, error = p_error, `exit` = NULL
         WHERE name = p_name;
    END IF;
    COMMIT AND NO CHAIN NO RELEASE;
    SELECT v_rows AS number;
END//

-- Ends the lease of a refresh and records its result: 0; 8: the lease was lost, so the result does
-- not count. A deadlock victim begins again.
CREATE OR REPLACE PROCEDURE rowlock_subject_finish(
    IN p_name VARBINARY(255), IN p_token BIGINT, IN p_failed TINYINT,
    IN p_error VARCHAR(2048) CHARACTER SET utf8mb4, IN p_exit INT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_now_ms BIGINT;
    DECLARE v_expires DATETIME(6);
    DECLARE v_stop TINYINT;
    DECLARE v_rows INT;
    {own_transaction};
    CALL rowlock_seize(p_token, CONCAT('subject:', p_name), v_rows, v_expires, v_stop);
    IF v_expires IS NOT NULL THEN
        {log rowlock_log_end(p_token, 1)};
    END IF;
    CALL rowlock_drop(p_token, CONCAT('subject:', p_name));
    CALL rowlock_clock(v_now_ms);
    UPDATE rowlock_subject
       SET status = IF(v_rows AND NOT p_failed, 'COMPLETE', 'ERROR'), ended = v_now_ms,
           updated = IF(v_rows AND NOT p_failed, v_now_ms, updated),
           basis = IF(v_rows AND NOT p_failed, began, basis),
           error = IF(v_rows, p_error, 'its lease was lost before it finished'), `exit` = p_exit
     WHERE name = p_name AND token = p_token AND status = 'PROCESSING';
    COMMIT AND NO CHAIN NO RELEASE;
    SELECT IF(v_rows > 0, 0, 8) AS status,
           RELEASE_LOCK(CONCAT('rowlock:', MD5(DATABASE()), ':', p_token)) AS unlocked;
END//

-- Makes the data of every refresh that has begun so far stale. 1; 0: unknown subject.
CREATE OR REPLACE PROCEDURE rowlock_subject_expire(IN p_name VARBINARY(255))
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_now_ms, v_began BIGINT;
    DECLARE v_known INT DEFAULT 1;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_known = 0;
    {handler_rolls_back};

    CALL rowlock_require_no_transaction();
    CALL rowlock_clock(v_now_ms);
    SELECT GREATEST(v_now_ms, COALESCE(began, 0)) INTO v_began FROM rowlock_subject
     WHERE name = p_name;
    IF v_known THEN
        INSERT INTO rowlock_expiry (name, expired) VALUES (p_name, v_began)
            ON DUPLICATE KEY UPDATE expired = GREATEST(expired + 1, v_began);
    END IF;
    COMMIT AND NO CHAIN NO RELEASE;
    SELECT v_known AS number;
END//

-- Lists one subject or (NULL) all, for display. PROCESSING without a live refresh is shown as
-- ERROR. updated and age_ms NULL: there is no data, or it has expired.
CREATE OR REPLACE PROCEDURE rowlock_subject_list(IN p_name VARBINARY(255))
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE v_now_ms BIGINT;

    CALL rowlock_require_no_transaction();
    CALL rowlock_clock(v_now_ms);
    SELECT s.name, s.description, IF(s.died, 'ERROR', s.status) AS status, s.began, s.ended,
           IF(s.counts, s.updated, NULL) AS updated,
           IF(s.counts, GREATEST(v_now_ms - s.updated, 0), NULL) AS age_ms, s.program, s.host,
           s.pid,
           CASE WHEN s.died AND s.token = 0 THEN 'its transaction was committed before it finished'
                WHEN s.died THEN 'its holder died' ELSE s.error END AS error,
           s.`exit`, s.basis IS NOT NULL AS made
      FROM (SELECT r.*, r.basis > COALESCE(e.expired, -1) AS counts,
                   r.status = 'PROCESSING' AND NOT EXISTS (
                       SELECT 1 FROM rowlock_alive b
                        WHERE b.token = r.token AND b.expires > utc_timestamp(6)) AS died
              FROM rowlock_subject r LEFT JOIN rowlock_expiry e ON e.name = r.name
             WHERE p_name IS NULL OR r.name = p_name) s
     ORDER BY s.name;
    COMMIT AND NO CHAIN NO RELEASE;
END//

{end_of_piece};
