-- rowlock on MariaDB: tables and procedures, in the database that is current. Run it with the
-- mariadb client (DELIMITER lines are the client's), then the other pieces, and that of one technique:
-- row.sql or insert.sql. All may be run any number of times. MariaDB commits after each CREATE; the last
-- statement of all sets the version in rowlock_meta; with version 0 nothing counts as installed.
--
-- What is for everybody is in door.sql, counter.sql and views.sql; the other procedures are what these
-- and the C library are made of.
--
-- They run with the caller's rights: no account owns them whose removal would stop every lock, and
-- nobody gains a right by them. Read values with SELECT ... INTO only: InnoDB reads the subquery
-- of IF (SELECT ...) or SET x = (SELECT ...) inside a procedure with shared row locks.

SET @rowlock_sql_mode = @@SESSION.sql_mode;
SET SESSION sql_mode = 'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION';

-- ---- tables --------------------------------------------------------------------------------------

CREATE TABLE IF NOT EXISTS rowlock_meta (
    only_one  TINYINT NOT NULL DEFAULT 1 PRIMARY KEY CHECK (only_one = 1),
    version   INT NOT NULL,
    technique VARCHAR(16) NOT NULL,
    object    VARCHAR(200) NULL,      -- technique insert: its table, quoted
    id_width  INT NULL,               -- technique insert: bytes that fit into its column id
    owned     TINYINT NOT NULL        -- technique insert: 1 if rowlock made that table
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Version 0 is not installed yet: if install ends before its last statement, the next one goes on with this technique.
INSERT IGNORE INTO rowlock_meta (version, technique, object, id_width, owned)
    VALUES (0, @rowlock_technique, @rowlock_table, NULL, 0);

-- Technique row: one row a name, committed before it is locked, kept until rowlock_vacuum.
CREATE TABLE IF NOT EXISTS rowlock_name (
    name VARBINARY(255) NOT NULL PRIMARY KEY
) ENGINE = InnoDB;

-- Leases: the identity, never updated, and the beat, which alone is renewed.
CREATE TABLE IF NOT EXISTS rowlock_lease (
    token    BIGINT NOT NULL,
    name     VARBINARY(255) NOT NULL,
    n        INT NOT NULL DEFAULT 0,
    mode     ENUM ('exclusive', 'shared', 'permit') NOT NULL,
    `limit`  INT NULL,
    owner    VARBINARY(255) NOT NULL,
    host     VARCHAR(255) NULL,
    pid      BIGINT NULL,
    command  VARCHAR(255) NULL,
    note     VARCHAR(1024) NULL,
    acquired DATETIME(6) NOT NULL,    -- UTC
    PRIMARY KEY (token, name, n),
    KEY rowlock_lease_name (name)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS rowlock_beat (
    token   BIGINT NOT NULL PRIMARY KEY,
    expires DATETIME(6) NOT NULL,     -- UTC
    stop    TINYINT NOT NULL DEFAULT 0
) ENGINE = InnoDB;

DELIMITER //

-- ---- small parts ---------------------------------------------------------------------------------

-- Only a server that can write, alone, keeps a lock: a Galera node does not see the others' row locks.
CREATE OR REPLACE PROCEDURE rowlock_check_server()
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    IF @@read_only THEN
        SIGNAL SQLSTATE 'RL002' SET MESSAGE_TEXT =
            'rowlock: this server is read-only, perhaps a replica: no lock taken here would exclude anybody';
    ELSEIF @@wsrep_on THEN
        SIGNAL SQLSTATE 'RL002' SET MESSAGE_TEXT =
            'rowlock: a Galera node: row locks do not exclude sessions on other nodes';
    END IF;
END//

-- The name of the SQL door (characters of the session's set, made utf8mb4 by the parameter) as the
-- one want that the other procedures take: HEX(name):mode:token.
CREATE OR REPLACE PROCEDURE rowlock_pack(
    IN p_name LONGTEXT CHARACTER SET utf8mb4, IN p_shared TINYINT,
    OUT p_want LONGTEXT CHARACTER SET ascii)
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    IF p_name IS NULL OR LENGTH(p_name) NOT BETWEEN 1 AND 255 THEN
        SIGNAL SQLSTATE 'RL003' SET MESSAGE_TEXT = 'rowlock: a name has 1 to 255 bytes of UTF-8';
    END IF;
    SET p_want = CONCAT(HEX(p_name), IF(p_shared, ':s:0', ':x:0'));
END//

-- Where the caller's transaction is none in which to lock: why, and what to do. p_code: 1 another level
-- than READ COMMITTED, 6 none is open, 7 one is.
CREATE OR REPLACE PROCEDURE rowlock_misuse(IN p_wants LONGTEXT CHARACTER SET ascii, IN p_code TINYINT)
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE v_text VARCHAR(512) CHARACTER SET utf8mb4;

    SET v_text = LEFT(CONCAT('rowlock: \'',
        LEFT(CONVERT(UNHEX(SUBSTRING_INDEX(p_wants, ':', 1)) USING utf8mb4), 100),
        CASE p_code
            WHEN 1 THEN '\' is not locked: not at READ COMMITTED the lock would not see what it waited for; roll back and use rowlock_begin_exclusive'
            WHEN 6 THEN '\' is not locked, for no transaction is open: begin with rowlock_begin_exclusive'
            ELSE '\' is not locked, for a transaction is open: COMMIT or ROLLBACK first, or lock in it with rowlock_exclusive'
        END), 500);
    CASE p_code
        WHEN 1 THEN SIGNAL SQLSTATE 'RL001' SET MESSAGE_TEXT = v_text;
        WHEN 6 THEN SIGNAL SQLSTATE 'RL006' SET MESSAGE_TEXT = v_text;
        ELSE SIGNAL SQLSTATE 'RL007' SET MESSAGE_TEXT = v_text;
    END CASE;
END//

-- Takes the first want off p_rest.
CREATE OR REPLACE PROCEDURE rowlock_next_want(
    INOUT p_rest LONGTEXT CHARACTER SET ascii,
    OUT p_name VARBINARY(255), OUT p_shared TINYINT, OUT p_token BIGINT)
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE v_want LONGTEXT CHARACTER SET ascii;

    SET v_want = SUBSTRING_INDEX(p_rest, ',', 1);
    SET p_rest = SUBSTRING(p_rest, LENGTH(v_want) + 2);
    SET p_name = UNHEX(SUBSTRING_INDEX(v_want, ':', 1));
    SET p_shared = SUBSTRING_INDEX(SUBSTRING_INDEX(v_want, ':', 2), ':', -1) = 's';
    SET p_token = SUBSTRING_INDEX(v_want, ':', -1);
END//

-- SET timestamp makes the server's clock stand still for its session: a lease would be judged by it, and a
-- wait not end. So before the clock is read that is over, for good: nothing tells whether it was set. Where
-- it may not be set (secure_timestamp) nobody has. SYSDATE() is local time, an hour of which comes twice.
CREATE OR REPLACE PROCEDURE rowlock_real_time()
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END;

    SET SESSION timestamp = DEFAULT;
END//

-- How many leases conflict, and how many of those the clock calls live. Any that is left is a
-- conflict; the clock only tells whether sweeping is worth the try.
CREATE OR REPLACE PROCEDURE rowlock_look(
    IN p_name VARBINARY(255), IN p_shared TINYINT, OUT p_all INT, OUT p_live INT)
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    SET p_all = 1, p_live = 0;                  -- in the way, unless the answer says that none is
    SELECT count(*) INTO p_all FROM rowlock_lease
     WHERE name = p_name AND (p_shared = 0 OR mode <> 'shared');
    IF p_all > 0 THEN
        CALL rowlock_real_time();
        SELECT count(*) INTO p_live FROM rowlock_lease l JOIN rowlock_beat b ON b.token = l.token
         WHERE l.name = p_name AND (p_shared = 0 OR l.mode <> 'shared')
           AND b.expires > utc_timestamp(6);
    END IF;
END//

-- Text for people: who holds the lease that is in the way.
CREATE OR REPLACE PROCEDURE rowlock_who(
    IN p_name VARBINARY(255), OUT p_text VARCHAR(400) CHARACTER SET utf8mb4)
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;

    SET p_text = NULL;
    SELECT LEFT(CONCAT('a lease on ', COALESCE(l.host, 'an unknown host'),
                       COALESCE(CONCAT(', pid ', l.pid), ''),
                       ', since ', DATE_FORMAT(l.acquired, '%Y-%m-%dT%H:%i:%sZ'),
                       COALESCE(CONCAT(': ', LEFT(l.note, 200)), '')), 400)
      INTO p_text
      FROM rowlock_lease l LEFT JOIN rowlock_beat b ON b.token = l.token
     WHERE l.name = p_name
     ORDER BY b.expires DESC, l.token LIMIT 1;
END//

-- ---- sweeping ------------------------------------------------------------------------------------

-- Ends one expired lease: the beat, judged by the clock, then the identity. A transaction of its
-- own; gives up after a second (a fenced transaction holds the identity).
CREATE OR REPLACE PROCEDURE rowlock_sweep(IN p_token BIGINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    IF @@in_transaction THEN
        SIGNAL SQLSTATE 'RL007' SET MESSAGE_TEXT =
            'rowlock: a sweep is a transaction of its own, but one is open';
    END IF;
    SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
    BEGIN
        DECLARE v_left INT DEFAULT 0;
        DECLARE EXIT HANDLER FOR 1205, 1213 ROLLBACK AND NO CHAIN NO RELEASE;
        DECLARE EXIT HANDLER FOR SQLEXCEPTION
        BEGIN
            ROLLBACK AND NO CHAIN NO RELEASE;
            RESIGNAL;
        END;

        START TRANSACTION READ WRITE;
        SET STATEMENT innodb_lock_wait_timeout = 1 FOR
            DELETE FROM rowlock_beat WHERE token = p_token AND expires <= utc_timestamp(6);
        SELECT count(*) INTO v_left FROM rowlock_beat WHERE token = p_token;
        IF v_left = 0 THEN
            SET STATEMENT innodb_lock_wait_timeout = 1 FOR
                DELETE FROM rowlock_lease WHERE token = p_token;
        END IF;
        COMMIT AND NO CHAIN NO RELEASE;
    END;
END//

-- The tokens of expired leases that conflict with the wants.
CREATE OR REPLACE PROCEDURE rowlock_expired(IN p_wants LONGTEXT CHARACTER SET ascii)
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    SELECT DISTINCT l.token
      FROM rowlock_lease l LEFT JOIN rowlock_beat b ON b.token = l.token
     WHERE (b.token IS NULL OR b.expires <= utc_timestamp(6))
       AND (LOCATE(CONCAT(',', HEX(l.name), ':x:0'), CONCAT(',', p_wants)) > 0
            OR (l.mode <> 'shared'
                AND LOCATE(CONCAT(',', HEX(l.name), ':s:0'), CONCAT(',', p_wants)) > 0))
     ORDER BY l.token;
END//

-- Sweeps inside the caller's transaction, where there is no other place: all conflicting leases of
-- the wants, in the order of their tokens, or nothing. Never waits: a time-out would roll the
-- caller back where innodb_rollback_on_timeout is set.
CREATE OR REPLACE PROCEDURE rowlock_sweep_within(IN p_wants LONGTEXT CHARACTER SET ascii)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_end, v_fail, v_beat TINYINT DEFAULT 0;
    DECLARE v_token BIGINT;
    DECLARE v_all, v_got INT;
    DECLARE c_tokens CURSOR FOR
        SELECT DISTINCT token FROM rowlock_lease
         WHERE LOCATE(CONCAT(',', HEX(name), ':x:0'), CONCAT(',', p_wants)) > 0
            OR (mode <> 'shared'
                AND LOCATE(CONCAT(',', HEX(name), ':s:0'), CONCAT(',', p_wants)) > 0)
         ORDER BY token;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_end = 1;

    SAVEPOINT rowlock_sweep_point;
    OPEN c_tokens;
    tokens: LOOP
        FETCH c_tokens INTO v_token;
        IF v_end OR v_fail THEN
            LEAVE tokens;
        END IF;
        SET v_beat = 0;
        SELECT 1 INTO v_beat FROM rowlock_beat
         WHERE token = v_token AND expires <= utc_timestamp(6) FOR UPDATE SKIP LOCKED;
        SET v_end = 0;
        IF v_beat = 0 THEN
            SELECT count(*) INTO v_fail FROM rowlock_beat WHERE token = v_token;
        END IF;
        SELECT count(*) INTO v_all FROM rowlock_lease WHERE token = v_token;
        SELECT count(*) INTO v_got FROM rowlock_lease WHERE token = v_token FOR UPDATE SKIP LOCKED;
        IF v_fail = 0 AND v_got = v_all THEN
            DELETE FROM rowlock_beat WHERE token = v_token;
            DELETE FROM rowlock_lease WHERE token = v_token;
        ELSE
            SET v_fail = 1;
        END IF;
    END LOOP;
    CLOSE c_tokens;
    IF v_fail THEN
        ROLLBACK TO SAVEPOINT rowlock_sweep_point;
    END IF;
    RELEASE SAVEPOINT rowlock_sweep_point;
END//

-- Sweeps what is expired, one short transaction each.
CREATE OR REPLACE PROCEDURE rowlock_sweep_wants(IN p_wants LONGTEXT CHARACTER SET ascii)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_end TINYINT DEFAULT 0;
    DECLARE v_token BIGINT;
    DECLARE c_tokens CURSOR FOR
        SELECT DISTINCT l.token
          FROM rowlock_lease l LEFT JOIN rowlock_beat b ON b.token = l.token
         WHERE (b.token IS NULL OR b.expires <= utc_timestamp(6))
           AND (p_wants IS NULL
                OR LOCATE(CONCAT(',', HEX(l.name), ':'), CONCAT(',', p_wants)) > 0)
        UNION                   -- beats alone, which nobody meets: for vacuum
        SELECT b.token
          FROM rowlock_beat b LEFT JOIN rowlock_lease l ON l.token = b.token
         WHERE p_wants IS NULL AND l.token IS NULL AND b.expires <= utc_timestamp(6)
         ORDER BY token;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_end = 1;

    OPEN c_tokens;
    tokens: LOOP
        FETCH c_tokens INTO v_token;
        IF v_end THEN
            LEAVE tokens;
        END IF;
        IF NOT @@autocommit THEN
            COMMIT AND NO CHAIN NO RELEASE;  -- the cursor's own read
        END IF;
        CALL rowlock_sweep(v_token);
    END LOOP;
    CLOSE c_tokens;
END//

-- ---- locking -------------------------------------------------------------------------------------

-- p_seconds here and in rowlock_take: 0 do not wait, < 0 as long as the session's
-- innodb_lock_wait_timeout says, else so many. A try skips locked rows: NOWAIT is a time-out.
--
-- Locks beneath one's own lease: its row instead of the name, so that siblings under one
-- token exclude each other.
CREATE OR REPLACE PROCEDURE rowlock_take_own(
    IN p_name VARBINARY(255), IN p_shared TINYINT, IN p_token BIGINT, IN p_seconds INT,
    OUT p_status TINYINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_row, v_there INT DEFAULT 0;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;

    IF p_seconds = 0 THEN
        IF p_shared THEN
            SELECT 1 INTO v_row FROM rowlock_lease
             WHERE token = p_token AND name = p_name AND mode <> 'permit'
             LOCK IN SHARE MODE SKIP LOCKED;
        ELSE
            SELECT 1 INTO v_row FROM rowlock_lease
             WHERE token = p_token AND name = p_name AND mode = 'exclusive'
             FOR UPDATE SKIP LOCKED;
        END IF;
        SELECT count(*) INTO v_there FROM rowlock_lease
         WHERE token = p_token AND name = p_name AND (mode = 'exclusive' OR (p_shared AND mode = 'shared'));
    ELSE
        SET p_seconds = IF(p_seconds < 0, @@innodb_lock_wait_timeout, p_seconds);
        IF p_shared THEN
            SET STATEMENT innodb_lock_wait_timeout = p_seconds FOR
                SELECT 1 INTO v_row FROM rowlock_lease
                 WHERE token = p_token AND name = p_name AND mode <> 'permit'
                 LOCK IN SHARE MODE;
        ELSE
            SET STATEMENT innodb_lock_wait_timeout = p_seconds FOR
                SELECT 1 INTO v_row FROM rowlock_lease
                 WHERE token = p_token AND name = p_name AND mode = 'exclusive'
                 FOR UPDATE;
        END IF;
    END IF;
    SET p_status = CASE WHEN v_row THEN 0 WHEN v_there THEN 1 ELSE 8 END;
END//

-- Whole seconds for a wait in milliseconds. p_safe: the transaction may be rolled back by a
-- time-out (it is ours, or InnoDB would roll back the statement only). Otherwise the wait has no
-- end here, and the caller's SET STATEMENT max_statement_time around the CALL ends it.
CREATE OR REPLACE PROCEDURE rowlock_seconds(
    IN p_wait_ms BIGINT, IN p_safe TINYINT, OUT p_seconds INT)
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    SET p_seconds = CASE WHEN p_wait_ms = 0 THEN 0
                         WHEN p_wait_ms = -2 THEN -1
                         WHEN p_wait_ms < 0 OR NOT p_safe THEN 100000000
                         ELSE LEAST(CEILING(p_wait_ms / 1000), 100000000) END;
END//

-- Commits the rows of the names that are missing (technique row).
CREATE OR REPLACE PROCEDURE rowlock_prepare_wants(IN p_wants LONGTEXT CHARACTER SET ascii)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_name VARBINARY(255);
    DECLARE v_shared TINYINT;
    DECLARE v_token BIGINT;

    IF @@in_transaction THEN
        SIGNAL SQLSTATE 'RL007' SET MESSAGE_TEXT =
            'rowlock: names are prepared before the transaction begins, but one is open';
    END IF;
    CALL rowlock_check_server();
    WHILE p_wants <> '' DO
        CALL rowlock_next_want(p_wants, v_name, v_shared, v_token);
        CALL rowlock_ensure(v_name);
    END WHILE;
END//

-- Begins a transaction at READ COMMITTED and locks the wants in it; p_wait_ms: 0 try, -1 for ever,
-- -2 the session's innodb_lock_wait_timeout, else milliseconds (whole seconds, rounded up). Unless
-- the status is 0 no transaction is open. Never waits for a lease.
CREATE OR REPLACE PROCEDURE rowlock_begin_wants(
    IN p_wants LONGTEXT CHARACTER SET ascii, IN p_wait_ms BIGINT,
    OUT p_status TINYINT, OUT p_name VARBINARY(255),
    OUT p_detail VARCHAR(400) CHARACTER SET utf8mb4)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_rest LONGTEXT CHARACTER SET ascii;
    DECLARE v_shared TINYINT;
    DECLARE v_token BIGINT;
    DECLARE v_all, v_live, v_seconds INT;

    IF @@in_transaction THEN
        CALL rowlock_misuse(p_wants, 7);
    END IF;
    IF @@read_only OR @@wsrep_on THEN
        CALL rowlock_check_server();
    END IF;
    IF @rowlock_idle IS NOT NULL THEN
        CALL rowlock_idle_back();
    END IF;
    CALL rowlock_seconds(p_wait_ms, 1, v_seconds);
    SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
    again: LOOP
        BEGIN
            DECLARE EXIT HANDLER FOR 1205, 1969
            BEGIN
                ROLLBACK AND NO CHAIN NO RELEASE;
                SET p_status = 2;
            END;
            DECLARE EXIT HANDLER FOR 1317
            BEGIN
                ROLLBACK AND NO CHAIN NO RELEASE;
                SET p_status = 7;
            END;
            DECLARE EXIT HANDLER FOR 1213 SET p_status = NULL;  -- nothing is lost yet: again
            DECLARE EXIT HANDLER FOR SQLEXCEPTION
            BEGIN
                ROLLBACK AND NO CHAIN NO RELEASE;
                RESIGNAL;
            END;

            SET v_rest = p_wants, p_status = 0;
            START TRANSACTION READ WRITE;
            WHILE v_rest <> '' AND p_status = 0 DO
                CALL rowlock_next_want(v_rest, p_name, v_shared, v_token);
                IF v_token <> 0 THEN
                    CALL rowlock_take_own(p_name, v_shared, v_token, v_seconds, p_status);
                ELSE
                    CALL rowlock_take(p_name, v_shared, v_seconds, p_status, p_detail);
                    IF p_status = 0 THEN
                        CALL rowlock_look(p_name, v_shared, v_all, v_live);
                        IF v_all > 0 THEN
                            CALL rowlock_who(p_name, p_detail);
                            SET p_status = IF(v_live > 0, 3, 4);
                        END IF;
                    END IF;
                END IF;
            END WHILE;
            IF p_status <> 0 THEN
                ROLLBACK AND NO CHAIN NO RELEASE;
            END IF;
        END;
        IF p_status = 5 THEN
            CALL rowlock_prepare_wants(p_wants);
        ELSEIF p_status IS NOT NULL THEN
            LEAVE again;
        ELSE
            DO SLEEP(RAND() * 0.02);    -- two victims that come back together meet again
        END IF;
    END LOOP;
    IF p_status = 0 THEN
        SET p_name = NULL;
    END IF;
END//

-- What is left to do under all the wants' locks, p_status: 0 nothing is in the way, 3 a live lease
-- of p_name, 4 an expired one.
CREATE OR REPLACE PROCEDURE rowlock_look_at_wants(
    IN p_wants LONGTEXT CHARACTER SET ascii, OUT p_status TINYINT, OUT p_name VARBINARY(255))
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE v_name VARBINARY(255);
    DECLARE v_shared TINYINT;
    DECLARE v_token BIGINT;
    DECLARE v_all, v_live INT;

    SET p_status = 0, p_name = NULL;
    WHILE p_wants <> '' AND p_status <> 3 DO
        CALL rowlock_next_want(p_wants, v_name, v_shared, v_token);
        IF v_token = 0 THEN
            CALL rowlock_look(v_name, v_shared, v_all, v_live);
            IF v_all > 0 THEN
                SET p_status = IF(v_live > 0, 3, 4), p_name = v_name;
            END IF;
        END IF;
    END WHILE;
END//

-- Locks the wants in the open transaction. p_lease_ms: how long to wait, with the names locked,
-- for leases to end; p_sweep: 1 if expired ones are to be swept in this transaction, 0 if the
-- caller does it elsewhere (status 4). p_stays: 1 if a row asked for stays locked all the same.
CREATE OR REPLACE PROCEDURE rowlock_lock_wants(
    IN p_wants LONGTEXT CHARACTER SET ascii, IN p_wait_ms BIGINT, IN p_lease_ms BIGINT,
    IN p_sweep TINYINT,
    OUT p_status TINYINT, OUT p_name VARBINARY(255), OUT p_stays TINYINT,
    OUT p_detail VARCHAR(400) CHARACTER SET utf8mb4)
    SQL SECURITY INVOKER MODIFIES SQL DATA
whole: BEGIN
    DECLARE v_rest LONGTEXT CHARACTER SET ascii DEFAULT p_wants;
    DECLARE v_shared TINYINT;
    DECLARE v_token BIGINT;
    DECLARE v_seconds INT;
    DECLARE v_slept TINYINT;
    DECLARE v_pause DOUBLE DEFAULT 0.01;
    DECLARE v_end DATETIME(6);              -- set while a lease is waited for
    DECLARE EXIT HANDLER FOR 1317 SET p_status = 7;
    DECLARE EXIT HANDLER FOR 1205, 1969
    BEGIN
        SET p_status = IF(v_end IS NULL, 2, 3);
        IF v_end IS NOT NULL THEN
            CALL rowlock_who(p_name, p_detail);
        END IF;
    END;

    SET p_stays = 0;
    IF NOT @@in_transaction AND @@autocommit THEN
        CALL rowlock_misuse(p_wants, 6);
    END IF;
    IF @@tx_isolation <> 'READ-COMMITTED' THEN
        CALL rowlock_misuse(p_wants, 1);
    END IF;
    IF @@read_only OR @@wsrep_on THEN
        CALL rowlock_check_server();
    END IF;
    IF @rowlock_idle IS NOT NULL THEN
        CALL rowlock_idle_back();
    END IF;
    CALL rowlock_may_try(p_wait_ms);
    CALL rowlock_seconds(p_wait_ms, NOT @@innodb_rollback_on_timeout, v_seconds);
    IF p_wait_ms = 0 THEN       -- look first: a row once locked stays so until the end
        CALL rowlock_look_at_wants(p_wants, p_status, p_name);
        IF p_status = 3 OR (p_status = 4 AND NOT p_sweep) THEN
            CALL rowlock_who(p_name, p_detail);
            LEAVE whole;
        END IF;
    END IF;
    WHILE v_rest <> '' DO
        CALL rowlock_next_want(v_rest, p_name, v_shared, v_token);
        IF v_token <> 0 THEN
            CALL rowlock_take_own(p_name, v_shared, v_token, v_seconds, p_status);
        ELSE
            CALL rowlock_take(p_name, v_shared, v_seconds, p_status, p_detail);
        END IF;
        IF p_status <> 0 THEN
            LEAVE whole;
        END IF;
        SET p_stays = 1;
    END WHILE;
    looks: LOOP
        CALL rowlock_look_at_wants(p_wants, p_status, p_name);
        IF p_status = 4 AND p_sweep THEN
            CALL rowlock_sweep_within(p_wants);
            CALL rowlock_look_at_wants(p_wants, p_status, p_name);
        END IF;
        IF p_status = 0 OR (p_status = 4 AND NOT p_sweep) THEN
            LEAVE looks;
        END IF;
        IF v_end IS NULL THEN
            SET v_end = utc_timestamp(6) + INTERVAL LEAST(p_lease_ms * 1000,
                IF(@@max_statement_time > 0, @@max_statement_time * 1000000, p_lease_ms * 1000)) MICROSECOND;
        END IF;
        IF p_wait_ms = 0 OR utc_timestamp(6) >= v_end THEN
            SET p_status = 3;
            LEAVE looks;
        END IF;
        SELECT SLEEP(v_pause) INTO v_slept;     -- DO SLEEP would swallow a KILL QUERY, and 1969
        IF v_slept THEN
            SET p_status = IF(@@max_statement_time > 0, 3, 7);
            LEAVE looks;
        END IF;
        SET v_pause = LEAST(v_pause * 1.5, 0.25);
    END LOOP;
    IF p_status = 0 THEN
        SET p_name = NULL, p_stays = 0;
    ELSE
        CALL rowlock_who(p_name, p_detail);
    END IF;
END//

-- What the C library calls: the same, with the status row as a result (rowlock_begin_lock is the
-- technique's).
CREATE OR REPLACE PROCEDURE rowlock_lock(
    IN p_wants LONGTEXT CHARACTER SET ascii, IN p_wait_ms BIGINT, IN p_lease_ms BIGINT,
    IN p_sweep TINYINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_status, v_stays TINYINT;
    DECLARE v_name VARBINARY(255);
    DECLARE v_detail VARCHAR(400) CHARACTER SET utf8mb4;

    CALL rowlock_lock_wants(p_wants, p_wait_ms, p_lease_ms, p_sweep,
                            v_status, v_name, v_stays, v_detail);
    SELECT v_status AS status, v_name AS name, v_stays AS stays, v_detail AS detail;
END//

-- Who is in the way: leases, and where somebody else waits for the row and the caller may see it
-- (privilege PROCESS) the transactions that hold it.
CREATE OR REPLACE PROCEDURE rowlock_holder(IN p_name VARBINARY(255))
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE EXIT HANDLER FOR 1227
        SELECT 'lease' AS kind, l.pid, l.host, l.command AS program,
               DATE_FORMAT(l.acquired, '%Y-%m-%dT%H:%i:%s.%fZ') AS since,
               DATE_FORMAT(b.expires, '%Y-%m-%dT%H:%i:%s.%fZ') AS expires, l.note, NULL AS waiting
          FROM rowlock_lease l LEFT JOIN rowlock_beat b ON b.token = l.token
         WHERE l.name = p_name
         ORDER BY b.expires DESC, l.token;

    SELECT h.* FROM (
        SELECT 'lease' AS kind, l.pid, l.host, l.command AS program,
               DATE_FORMAT(l.acquired, '%Y-%m-%dT%H:%i:%s.%fZ') AS since,
               DATE_FORMAT(b.expires, '%Y-%m-%dT%H:%i:%s.%fZ') AS expires, l.note, NULL AS waiting
          FROM rowlock_lease l LEFT JOIN rowlock_beat b ON b.token = l.token
         WHERE l.name = p_name
        UNION ALL
        SELECT 'transaction', NULLIF(t.trx_mysql_thread_id, 0), SUBSTRING_INDEX(p.host, ':', 1),
               IF(t.trx_mysql_thread_id = 0, 'prepared transaction (see XA RECOVER)', p.user),
               DATE_FORMAT(CONVERT_TZ(t.trx_started, 'SYSTEM', '+00:00'), '%Y-%m-%dT%H:%i:%s.000Z'),
               NULL, NULL, count(DISTINCT w.requesting_trx_id)
          FROM information_schema.innodb_locks k
          JOIN information_schema.innodb_lock_waits w ON w.blocking_lock_id = k.lock_id
          JOIN information_schema.innodb_trx t ON t.trx_id = k.lock_trx_id AND t.trx_state <> 'LOCK WAIT'
          LEFT JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id
         WHERE k.lock_table = CONCAT('`', REPLACE(DATABASE(), '`', '``'), '`.`rowlock_name`')
           AND k.lock_data = CONCAT('0x', LOWER(HEX(p_name)))
         GROUP BY t.trx_mysql_thread_id, p.host, p.user, t.trx_started
    ) h ORDER BY h.kind, h.expires DESC, h.since;
END//

DELIMITER ;

SET SESSION sql_mode = @rowlock_sql_mode;
