-- rowlock on MariaDB: tables and procedures, in the current database. Run it with the server's
-- client (the DELIMITER lines are for the client), then the other pieces, and the pieces of one
-- technique. All may be run repeatedly. MariaDB commits after each CREATE; the last statement sets
-- the version in rowlock_meta, and version 0 counts as not installed.
--
-- A lease is a lock that outlives its session: a row of rowlock_lease, and a heartbeat that its
-- holder renews. The name lock is the lock of the technique on one name until the transaction ends.
-- A transaction lock takes the name lock and then checks the leases.
--
-- The public procedures and views are in door.sql, request.sql, counter.sql and views.sql. All
-- others are internal parts of these and of the C library. They run with the caller's rights:
-- dropping an account never disables them, and no account gains a right through them. Read values
-- only with SELECT ... INTO: inside a procedure InnoDB reads the subquery of IF (SELECT ...) or SET
-- x = (SELECT ...) with shared row locks.

{own_mode};

-- ---- tables -------------------------------------------------------------------------------------

CREATE TABLE IF NOT EXISTS rowlock_meta (
    only_one  TINYINT NOT NULL DEFAULT 1 PRIMARY KEY CHECK (only_one = 1),
    version   INT NOT NULL,
    technique VARCHAR(16) NOT NULL,
    object    VARCHAR(200) NULL,      -- technique insert: its table, quoted
    id_width  INT NULL,               -- technique insert: bytes that fit into its column id
    owned     TINYINT NOT NULL,       -- technique insert: 1 if rowlock made that table
    -- which ended leases the history keeps (off, problems, slow, all), and for how many
    -- milliseconds: keep_good for released leases, keep_bad for all others
    history   VARCHAR(16) NOT NULL DEFAULT 'slow',
    keep_good BIGINT NOT NULL DEFAULT 86400000,
    keep_bad  BIGINT NOT NULL DEFAULT 604800000
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- With version 0 rowlock is not installed yet: if install is interrupted, the next one continues
-- with this technique.
INSERT IGNORE INTO rowlock_meta (version, technique, object, id_width, owned)
    VALUES (0, @rowlock_technique, @rowlock_table, NULL, 0);

-- Technique row: one row per name, kept until rowlock_unlock or rowlock_vacuum deletes it. An
-- exclusive lease of one name is a state of this row (held 1). Its token is even; all other leases
-- are rows of rowlock_lease, whose tokens are odd. A change of that state locks the row. The end of
-- a lease, and the deletion of the row, lock the entry of rowlock_name_fence first: fences lock
-- only that, so that renewals pass them. So each statement names its index. The key of the token
-- changes with a grant only: a release leaves the token, from which the next one counts.
CREATE TABLE IF NOT EXISTS rowlock_name (
    name     VARBINARY(255) NOT NULL PRIMARY KEY,
    token    BIGINT NULL,             -- of the lease, or of the last one
    held     TINYINT NOT NULL DEFAULT 0,
    stop     TINYINT NOT NULL DEFAULT 0, -- broken
    -- 0: rowlock_lease has no lease of the name, and none is granted before this is set; 1: it may
    -- have; 2: shared leases have been granted, so that it stays
    many     TINYINT NOT NULL DEFAULT 1,
    marked   TINYINT NOT NULL DEFAULT 0, -- 1: grant_free got the session lock of the token
    least    BIGINT NOT NULL DEFAULT 0,  -- earlier leases of the name had tokens up to this
    expires  DATETIME(6) NOT NULL DEFAULT '1970-01-01',  -- UTC
    -- UTC; a release before this time leaves no row in the history
    quiet_until DATETIME(6) NOT NULL DEFAULT '1970-01-01',
    acquired DATETIME(6) NOT NULL DEFAULT '1970-01-01',  -- UTC
    waited   BIGINT NOT NULL DEFAULT 0, -- in the queue, in milliseconds
    owner    VARBINARY(255) NULL,
    host     VARCHAR(255) NULL,
    pid      BIGINT NULL,
    command  VARCHAR(255) NULL,
    note     VARCHAR(1024) NULL,
    UNIQUE KEY rowlock_name_fence (name),
    UNIQUE KEY rowlock_name_token (token)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The row that transactions with the token of one lease of rowlock_name lock in its place.
CREATE TABLE IF NOT EXISTS rowlock_beneath (
    name VARBINARY(255) NOT NULL PRIMARY KEY
) ENGINE = InnoDB;

-- The names of rowlock_prepare: rowlock_vacuum keeps their rows, until rowlock_unlock.
CREATE TABLE IF NOT EXISTS rowlock_prepared (
    name VARBINARY(255) NOT NULL PRIMARY KEY
) ENGINE = InnoDB;

-- All other leases (shared, permits, of several names, and those of technique insert): the
-- identity, which is never updated, and the heartbeat, which renewals update. All
-- exclusive leases of a name have one primary key: the next lease reuses the entry of the one that
-- has ended. Otherwise a search by name would read the entries of all ended leases, which InnoDB
-- keeps while any session has an old snapshot. Statements that lock rows search by token.
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
    waited   BIGINT NOT NULL DEFAULT 0, -- in the queue, in milliseconds
    slot     BIGINT NOT NULL DEFAULT (IF(mode = 1, 0, token)), -- mode 1: exclusive
    PRIMARY KEY (name, slot, n),
    KEY rowlock_lease_token (token)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS rowlock_heartbeat (
    token   BIGINT NOT NULL PRIMARY KEY,
    expires DATETIME(6) NOT NULL,     -- UTC
    stop    TINYINT NOT NULL DEFAULT 0,
    -- UTC; a release before this time leaves no row in the history
    quiet_until DATETIME(6) NOT NULL DEFAULT '9999-12-31'
) ENGINE = InnoDB;

-- Every lease, for readers: a row for each name, or each permit. By name or token they use keys.
CREATE OR REPLACE SQL SECURITY INVOKER VIEW rowlock_held AS
    SELECT r.token, r.name, 0 AS n, 'exclusive' AS mode, NULL AS `limit`, r.owner, r.host, r.pid,
           r.command, r.note, r.acquired, r.waited, r.expires, r.stop
      FROM rowlock_name r WHERE r.held = 1
    UNION ALL
    SELECT l.token, l.name, l.n, CAST(l.mode AS CHAR), l.`limit`, l.owner, l.host, l.pid,
           l.command, l.note, l.acquired, l.waited, b.expires, b.stop
      FROM rowlock_lease l LEFT JOIN rowlock_heartbeat b ON b.token = l.token;

-- One row for each token of rowlock_held.
CREATE OR REPLACE SQL SECURITY INVOKER VIEW rowlock_alive AS
    SELECT r.token, r.expires, r.stop FROM rowlock_name r WHERE r.held = 1
    UNION ALL
    SELECT b.token, b.expires, b.stop FROM rowlock_heartbeat b;

DELIMITER //

-- ---- small parts --------------------------------------------------------------------------------

-- Only a writable standalone server keeps locks. Galera compares only rows that two transactions
-- have written, so a row lock or a fence at one node excludes no session of another. The global
-- variable counts: a session that sets its own to OFF does not even replicate its rows.
CREATE OR REPLACE PROCEDURE rowlock_check_server()
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    IF {reads_only} THEN
        SIGNAL SQLSTATE 'RL002' SET MYSQL_ERRNO = 30002, MESSAGE_TEXT =
            'rowlock: this server is read-only, perhaps a replica: locks here would not exclude '
            'other sessions';
    ELSEIF @@GLOBAL.wsrep_on THEN
        SIGNAL SQLSTATE 'RL002' SET MYSQL_ERRNO = 30002, MESSAGE_TEXT =
            'rowlock: a Galera node: another node could grant the same lock at the same time; use '
            'a database on a server outside the cluster';
    END IF;
END//

-- Packs the name of a public procedure (in the character set of the session, converted to utf8mb4
-- by the parameter) as the one want that internal procedures take: HEX(name):mode:token.
CREATE OR REPLACE PROCEDURE rowlock_pack(
    IN p_name LONGTEXT CHARACTER SET utf8mb4, IN p_shared TINYINT,
    OUT p_want LONGTEXT CHARACTER SET ascii)
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    IF p_name IS NULL OR LENGTH(p_name) NOT BETWEEN 1 AND 255 THEN
        SIGNAL SQLSTATE 'RL003' SET MYSQL_ERRNO = 30003, MESSAGE_TEXT =
            'rowlock: a name must have 1 to 255 bytes of UTF-8';
    END IF;
    SET p_want = CONCAT(HEX(p_name), IF(p_shared, ':s:0', ':x:0'));
END//

-- Raises the error for a transaction in which the caller cannot lock. p_code: 1 not at READ
-- COMMITTED, 6 no transaction is open, 7 one is open.
CREATE OR REPLACE PROCEDURE rowlock_misuse(IN p_wants LONGTEXT CHARACTER SET ascii,
                                           IN p_code TINYINT)
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE v_text VARCHAR(512) CHARACTER SET utf8mb4;

    SET v_text = LEFT(CONCAT('rowlock: \'',
        LEFT(CONVERT(UNHEX(SUBSTRING_INDEX(p_wants, ':', 1)) USING utf8mb4), 100),
        CASE p_code
            WHEN 1 THEN
                '\' is not locked: the transaction is not at READ COMMITTED and would not see the '
                'changes of the previous holder; roll back and use rowlock_begin_exclusive'
            WHEN 6 THEN
                '\' is not locked: no transaction is open; begin with rowlock_begin_exclusive'
            ELSE
                '\' is not locked: a transaction is open; COMMIT or ROLLBACK first, or lock in it '
                'with rowlock_exclusive'
        END), 500);
    CASE p_code
        WHEN 1 THEN SIGNAL SQLSTATE 'RL001' SET MYSQL_ERRNO = 30001, MESSAGE_TEXT = v_text;
        WHEN 6 THEN SIGNAL SQLSTATE 'RL006' SET MYSQL_ERRNO = 30006, MESSAGE_TEXT = v_text;
        ELSE SIGNAL SQLSTATE 'RL007' SET MYSQL_ERRNO = 30007, MESSAGE_TEXT = v_text;
    END CASE;
END//

-- Removes the first want from p_rest.
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

-- SET timestamp freezes the server's clock for its session: leases would be judged by it, and waits
-- would not end. Nothing shows whether it was set, so this resets the clock before it is read. An
-- account that may not reset it (secure_timestamp) could not set it either. SYSDATE() cannot
-- replace it: it is local time, in which one hour occurs twice.
CREATE OR REPLACE PROCEDURE rowlock_real_time()
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END;

    SET SESSION timestamp = DEFAULT;
END//

-- Counts the conflicting leases, and those of them that are live by the clock. Any row that remains
-- is a conflict; the clock only shows whether a sweep is worthwhile.
CREATE OR REPLACE PROCEDURE rowlock_look(
    IN p_name VARBINARY(255), IN p_shared TINYINT, OUT p_all INT, OUT p_live INT)
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE v_row, v_leases INT;                -- NULL: no answer

    SET p_all = 1, p_live = 0;                  -- without an answer it is a conflict
    SELECT count(*) INTO v_row FROM rowlock_name WHERE name = p_name AND held = 1;
    SELECT count(*) INTO v_leases FROM rowlock_lease
     WHERE name = p_name AND (p_shared = 0 OR mode <> 'shared');
    SET p_all = COALESCE(v_row + v_leases, 1);
    IF p_all > 0 THEN
        CALL rowlock_real_time();
        SELECT count(*) INTO p_live FROM rowlock_held
         WHERE name = p_name AND (p_shared = 0 OR mode <> 'shared') AND expires > utc_timestamp(6);
    END IF;
END//

-- Describes the holder of the lease of the name that expires last.
CREATE OR REPLACE PROCEDURE rowlock_describe_holder(
    IN p_name VARBINARY(255), OUT p_text VARCHAR(400) CHARACTER SET utf8mb4)
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;

    SET p_text = NULL;
    SELECT LEFT(CONCAT('a lease on ', COALESCE(l.host, 'an unknown host'),
                       COALESCE(CONCAT(', pid ', l.pid), ''),
                       COALESCE(CONCAT(' (', l.command, ')'), ''),
                       ', since ', DATE_FORMAT(l.acquired, '%Y-%m-%dT%H:%i:%sZ'),
                       COALESCE(CONCAT(': ', LEFT(l.note, 200)), '')), 400)
      INTO p_text
      FROM rowlock_held l
     WHERE l.name = p_name
     ORDER BY l.expires DESC, l.token LIMIT 1;
END//

-- ---- ending a lease -----------------------------------------------------------------------------

-- After the clock was set back, another name may get the token that a lease of rowlock_name had: so
-- these find such a lease by its name too (p_name NULL: any).
--
-- Locks a lease in the open transaction so that no session renews, fences or ends it. p_there: the
-- number of its rows, 0: it has ended. Waits as the session does. The entry of rowlock_name_fence
-- is locked before the row.
CREATE OR REPLACE PROCEDURE rowlock_seize(
    IN p_token BIGINT, IN p_name VARBINARY(255), OUT p_there INT, OUT p_expires DATETIME(6),
    OUT p_stop TINYINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_name VARBINARY(255);
    DECLARE v_known INT;
    DECLARE v_beats INT;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;

    SET p_there = 0, p_expires = NULL, p_stop = NULL;
    {row_of p_token};
    IF v_name IS NOT NULL THEN
        SELECT count(*), MAX(expires), MAX(stop) INTO p_there, p_expires, p_stop
          FROM rowlock_name FORCE INDEX (rowlock_name_fence)
         WHERE name = v_name AND token = p_token AND held = 1 FOR UPDATE;
    ELSE
        SELECT count(*), MAX(expires), MAX(stop) INTO v_beats, p_expires, p_stop
          FROM rowlock_heartbeat WHERE token = p_token FOR UPDATE;
        SELECT count(*) INTO p_there FROM rowlock_lease WHERE token = p_token FOR UPDATE;
        CALL rowlock_check_answer(v_beats);
    END IF;
    CALL rowlock_check_answer(p_there);
END//

-- Ends a lease that rowlock_seize has locked. A KILL QUERY in the middle of an UPDATE or a DELETE
-- may end it without a change and without an error: so it is repeated until nothing is left.
CREATE OR REPLACE PROCEDURE rowlock_drop(IN p_token BIGINT, IN p_name VARBINARY(255))
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_name VARBINARY(255);
    DECLARE v_known INT;
    DECLARE v_left INT;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;

    REPEAT
        SET v_left = NULL;
        {row_of p_token};
        IF v_name IS NOT NULL THEN
            UPDATE rowlock_name FORCE INDEX (rowlock_name_fence) SET held = 0
             WHERE name = v_name AND token = p_token AND held = 1;
            SELECT count(*) INTO v_left FROM rowlock_name
             WHERE name = v_name AND token = p_token AND held = 1;
        ELSE
            DELETE FROM rowlock_heartbeat WHERE token = p_token;
            DELETE FROM rowlock_lease WHERE token = p_token;
            SELECT (SELECT count(*) FROM rowlock_lease WHERE token = p_token)
                 + (SELECT count(*) FROM rowlock_heartbeat WHERE token = p_token) INTO v_left;
        END IF;
    UNTIL v_left = 0 END REPEAT;
END//

-- Sets the end of a lease; p_longer: never to an earlier time, and not if it was broken. p_rows:
-- whether it changed the lease.
CREATE OR REPLACE PROCEDURE rowlock_set_end(
    IN p_token BIGINT, IN p_name VARBINARY(255), IN p_until DATETIME(6), IN p_longer TINYINT,
    OUT p_rows INT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_name VARBINARY(255);
    DECLARE v_known INT;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;

    {row_of p_token};
    IF v_name IS NOT NULL THEN
        UPDATE rowlock_name FORCE INDEX (PRIMARY)
           SET expires = IF(p_longer, GREATEST(expires, p_until), p_until)
         WHERE name = v_name AND token = p_token AND held = 1 AND (stop = 0 OR NOT p_longer);
    ELSE
        UPDATE rowlock_heartbeat
           SET expires = IF(p_longer, GREATEST(expires, p_until), p_until)
         WHERE token = p_token AND (stop = 0 OR NOT p_longer);
    END IF;
    SET p_rows = ROW_COUNT();
END//

-- Marks a lease as broken. p_live: only if it has not expired.
CREATE OR REPLACE PROCEDURE rowlock_set_stop(
    IN p_token BIGINT, IN p_name VARBINARY(255), IN p_live TINYINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_name VARBINARY(255);
    DECLARE v_known INT;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;

    {row_of p_token};
    IF v_name IS NOT NULL THEN
        UPDATE rowlock_name FORCE INDEX (PRIMARY) SET stop = 1
         WHERE name = v_name AND token = p_token AND held = 1
           AND (expires > utc_timestamp(6) OR NOT p_live);
    ELSE
        UPDATE rowlock_heartbeat SET stop = 1
         WHERE token = p_token AND (expires > utc_timestamp(6) OR NOT p_live);
    END IF;
END//

-- Ends one expired lease, in a transaction of its own, if it has expired by the clock. It gives up
-- after a wait of a second, such as for a fence.
CREATE OR REPLACE PROCEDURE rowlock_sweep(IN p_token BIGINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    IF @@in_transaction THEN
        SIGNAL SQLSTATE 'RL007' SET MYSQL_ERRNO = 30007, MESSAGE_TEXT =
            'rowlock: a sweep needs a transaction of its own, but one is open';
    END IF;
    CALL rowlock_real_time();
    SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
    BEGIN
        DECLARE v_there INT;
        DECLARE v_expires DATETIME(6);
        DECLARE v_stop TINYINT;
        DECLARE EXIT HANDLER FOR 1205, 1213 ROLLBACK AND NO CHAIN NO RELEASE;
        {handler_rolls_back};

        START TRANSACTION READ WRITE;
        SET STATEMENT innodb_lock_wait_timeout = 1 FOR
            CALL rowlock_seize(p_token, NULL, v_there, v_expires, v_stop);
        IF v_expires IS NULL OR v_expires <= utc_timestamp(6) THEN
            IF v_expires IS NOT NULL THEN
                {log rowlock_log_end(p_token, 1)};
            END IF;
            IF v_there > 0 OR v_expires IS NOT NULL THEN
                CALL rowlock_drop(p_token, NULL);
            END IF;
        END IF;
        COMMIT AND NO CHAIN NO RELEASE;
    END;
END//

-- Written out, because a search in rowlock_held by a list of names would read every name.
CREATE OR REPLACE PROCEDURE rowlock_expired(IN p_wants LONGTEXT CHARACTER SET ascii)
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE v_wants LONGTEXT CHARACTER SET ascii
        DEFAULT CONCAT('["', REPLACE(p_wants, ',', '","'), '"]');

    CALL rowlock_real_time();
    SELECT r.token
      FROM JSON_TABLE(v_wants, '$[*]' COLUMNS (
               want VARCHAR(600) CHARACTER SET ascii PATH '$')) w
      STRAIGHT_JOIN rowlock_name r ON r.name = UNHEX(SUBSTRING_INDEX(w.want, ':', 1))
     WHERE w.want LIKE '%:0' AND r.held = 1 AND r.expires <= utc_timestamp(6)
    UNION
    SELECT l.token
      FROM JSON_TABLE(v_wants, '$[*]' COLUMNS (
               want VARCHAR(600) CHARACTER SET ascii PATH '$')) w
      STRAIGHT_JOIN rowlock_lease l ON l.name = UNHEX(SUBSTRING_INDEX(w.want, ':', 1))
      LEFT JOIN rowlock_heartbeat b ON b.token = l.token
     WHERE w.want LIKE '%:0' AND (w.want LIKE '%:x:0' OR l.mode <> 'shared')
       AND (b.expires IS NULL OR b.expires <= utc_timestamp(6))
     ORDER BY token;
END//

-- Sweeps inside the caller's transaction, where no other is possible: all conflicting leases of the
-- wants, in the order of their tokens, or nothing. It never waits: a timeout would roll back the
-- caller's transaction where innodb_rollback_on_timeout is set.
CREATE OR REPLACE PROCEDURE rowlock_sweep_within(IN p_wants LONGTEXT CHARACTER SET ascii)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_end, v_fail, v_beat TINYINT DEFAULT 0;
    DECLARE v_token BIGINT;
    DECLARE v_all, v_got INT;
    DECLARE v_name VARBINARY(255);
    DECLARE c_tokens CURSOR FOR
        SELECT DISTINCT token FROM rowlock_held
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
        SELECT count(*), MAX(name) INTO v_all, v_name FROM rowlock_name
         WHERE token = v_token AND held = 1;
        IF v_all > 0 THEN
            SELECT count(*) INTO v_got FROM rowlock_name FORCE INDEX (rowlock_name_fence)
             WHERE name = v_name AND token = v_token AND held = 1 AND expires <= utc_timestamp(6)
               FOR UPDATE SKIP LOCKED;
        ELSE
            SELECT 1 INTO v_beat FROM rowlock_heartbeat
             WHERE token = v_token AND expires <= utc_timestamp(6) FOR UPDATE SKIP LOCKED;
            SET v_end = 0;
            IF v_beat = 0 THEN
                SELECT count(*) INTO v_fail FROM rowlock_heartbeat WHERE token = v_token;
            END IF;
            SELECT count(*) INTO v_all FROM rowlock_lease WHERE token = v_token;
            SELECT count(*) INTO v_got FROM rowlock_lease WHERE token = v_token
               FOR UPDATE SKIP LOCKED;
        END IF;
        IF v_fail = 0 AND v_got = v_all THEN
            IF NOT @@innodb_rollback_on_timeout THEN
                {log rowlock_log_end(v_token, 0)};
                SET v_end = 0;
            END IF;
            CALL rowlock_drop(v_token, v_name);
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

-- Sweeps all expired leases, each in a short transaction.
CREATE OR REPLACE PROCEDURE rowlock_sweep_all()
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_end TINYINT DEFAULT 0;
    DECLARE v_token BIGINT;
    DECLARE c_tokens CURSOR FOR
        SELECT DISTINCT l.token
          FROM rowlock_held l
         WHERE l.expires IS NULL OR l.expires <= utc_timestamp(6)
        UNION                   -- heartbeats without a lease, which only vacuum finds
        SELECT b.token
          FROM rowlock_heartbeat b LEFT JOIN rowlock_lease l ON l.token = b.token
         WHERE l.token IS NULL AND b.expires <= utc_timestamp(6)
         ORDER BY token;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_end = 1;

    OPEN c_tokens;
    tokens: LOOP
        FETCH c_tokens INTO v_token;
        IF v_end THEN
            LEAVE tokens;
        END IF;
        IF NOT @@autocommit THEN
            COMMIT AND NO CHAIN NO RELEASE;  -- ends the cursor's read
        END IF;
        CALL rowlock_sweep(v_token);
    END LOOP;
    CLOSE c_tokens;
END//

-- ---- locking ------------------------------------------------------------------------------------

-- rowlock_lock_own_lease for a lease of rowlock_name. Renewals must pass its row, so that is not
-- locked: the fence keeps the lease, and a row of rowlock_beneath excludes other transactions with
-- its token. The first of them inserts that row. p_row: locked; p_there: the lease exists.
CREATE OR REPLACE PROCEDURE rowlock_lock_beneath(
    IN p_name VARBINARY(255), IN p_shared TINYINT, IN p_token BIGINT, IN p_seconds INT,
    OUT p_row INT, OUT p_there INT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
whole: BEGIN
    DECLARE v_fence INT DEFAULT 0;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;

    SET p_row = 0;
    SET p_seconds = IF(p_seconds < 0, @@innodb_lock_wait_timeout, p_seconds);
    IF p_seconds = 0 THEN
        SET STATEMENT innodb_lock_wait_timeout = 1 FOR
            SELECT 1 INTO v_fence FROM rowlock_name FORCE INDEX (rowlock_name_fence)
             WHERE name = p_name LOCK IN SHARE MODE SKIP LOCKED;
    ELSE
        SET STATEMENT innodb_lock_wait_timeout = p_seconds FOR
            SELECT 1 INTO v_fence FROM rowlock_name FORCE INDEX (rowlock_name_fence)
             WHERE name = p_name LOCK IN SHARE MODE;
    END IF;
    SELECT count(*) INTO p_there FROM rowlock_name
     WHERE name = p_name AND token = p_token AND held = 1;
    IF v_fence = 0 OR COALESCE(p_there, 0) = 0 THEN
        LEAVE whole;
    END IF;
    SELECT count(*) INTO p_row FROM rowlock_beneath WHERE name = p_name;
    IF p_row = 0 THEN
        BEGIN
            DECLARE EXIT HANDLER FOR 1205
            BEGIN
                IF p_seconds > 0 OR @@innodb_rollback_on_timeout THEN -- this rolled back all
                    RESIGNAL;
                END IF;
            END;

            SET STATEMENT innodb_lock_wait_timeout = p_seconds FOR
                INSERT INTO rowlock_beneath (name) VALUES (p_name)
                    ON DUPLICATE KEY UPDATE name = p_name;
        END;
    END IF;
    SET p_row = 0;
    IF p_seconds = 0 AND p_shared THEN
        SET STATEMENT innodb_lock_wait_timeout = 1 FOR
            SELECT 1 INTO p_row FROM rowlock_beneath WHERE name = p_name
              LOCK IN SHARE MODE SKIP LOCKED;
    ELSEIF p_seconds = 0 THEN
        SET STATEMENT innodb_lock_wait_timeout = 1 FOR
            SELECT 1 INTO p_row FROM rowlock_beneath WHERE name = p_name FOR UPDATE SKIP LOCKED;
    ELSEIF p_shared THEN
        SET STATEMENT innodb_lock_wait_timeout = p_seconds FOR
            SELECT 1 INTO p_row FROM rowlock_beneath WHERE name = p_name LOCK IN SHARE MODE;
    ELSE
        SET STATEMENT innodb_lock_wait_timeout = p_seconds FOR
            SELECT 1 INTO p_row FROM rowlock_beneath WHERE name = p_name FOR UPDATE;
    END IF;
END//

-- Locks the row of the caller's own lease in place of the name, so that transactions with the same
-- token exclude each other. p_seconds here and in rowlock_name_lock: 0 does not wait, < 0 waits up
-- to the session's innodb_lock_wait_timeout, otherwise that many seconds. A try skips locked rows,
-- because NOWAIT is a timeout.
CREATE OR REPLACE PROCEDURE rowlock_lock_own_lease(
    IN p_name VARBINARY(255), IN p_shared TINYINT, IN p_token BIGINT, IN p_seconds INT,
    OUT p_status TINYINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_row, v_there INT DEFAULT 0;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;

    SELECT count(*) INTO v_there FROM rowlock_name
     WHERE name = p_name AND token = p_token AND held = 1;
    IF v_there > 0 THEN
        CALL rowlock_lock_beneath(p_name, p_shared, p_token, p_seconds, v_row, v_there);
    ELSE
        IF p_seconds = 0 THEN
            IF p_shared THEN
                SET STATEMENT innodb_lock_wait_timeout = 1 FOR
                    SELECT 1 INTO v_row FROM rowlock_lease FORCE INDEX (rowlock_lease_token)
                     WHERE token = p_token AND name = p_name AND mode <> 'permit'
                     LOCK IN SHARE MODE SKIP LOCKED;
            ELSE
                SET STATEMENT innodb_lock_wait_timeout = 1 FOR
                    SELECT 1 INTO v_row FROM rowlock_lease FORCE INDEX (rowlock_lease_token)
                     WHERE token = p_token AND name = p_name AND mode = 'exclusive'
                     FOR UPDATE SKIP LOCKED;
            END IF;
            SELECT count(*) INTO v_there FROM rowlock_lease
             WHERE token = p_token AND name = p_name
               AND (mode = 'exclusive' OR (p_shared AND mode = 'shared'));
        ELSE
            SET p_seconds = IF(p_seconds < 0, @@innodb_lock_wait_timeout, p_seconds);
            IF p_shared THEN
                SET STATEMENT innodb_lock_wait_timeout = p_seconds FOR
                    SELECT 1 INTO v_row FROM rowlock_lease FORCE INDEX (rowlock_lease_token)
                     WHERE token = p_token AND name = p_name AND mode <> 'permit'
                     LOCK IN SHARE MODE;
            ELSE
                SET STATEMENT innodb_lock_wait_timeout = p_seconds FOR
                    SELECT 1 INTO v_row FROM rowlock_lease FORCE INDEX (rowlock_lease_token)
                     WHERE token = p_token AND name = p_name AND mode = 'exclusive'
                     FOR UPDATE;
            END IF;
        END IF;
    END IF;
    SET p_status = CASE WHEN v_row THEN 0 WHEN v_there THEN 1 ELSE 8 END;
END//

-- Converts a wait in milliseconds to whole seconds. p_safe: a timeout does no harm, because the
-- transaction is the library's own, or because InnoDB rolls back only the statement. Otherwise the
-- wait is unlimited here: the caller's SET STATEMENT max_statement_time around the CALL ends it.
CREATE OR REPLACE PROCEDURE rowlock_seconds(
    IN p_wait_ms BIGINT, IN p_safe TINYINT, OUT p_seconds INT)
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    SET p_seconds = CASE WHEN p_wait_ms = 0 THEN 0
                         WHEN p_wait_ms = -2 THEN -1
                         WHEN p_wait_ms < 0 OR NOT p_safe THEN 100000000
                         ELSE LEAST(CEILING(p_wait_ms / 1000), 100000000) END;
END//

-- Creates and commits the missing rows of the names (technique row).
CREATE OR REPLACE PROCEDURE rowlock_prepare_wants(IN p_wants LONGTEXT CHARACTER SET ascii)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_name VARBINARY(255);
    DECLARE v_shared TINYINT;
    DECLARE v_token BIGINT;

    {prepare_begins};
    WHILE p_wants <> '' DO
        CALL rowlock_next_want(p_wants, v_name, v_shared, v_token);
        CALL rowlock_ensure(v_name);
    END WHILE;
END//

-- The same for names that vacuum keeps.
CREATE OR REPLACE PROCEDURE rowlock_keep_wants(IN p_wants LONGTEXT CHARACTER SET ascii)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_rest LONGTEXT CHARACTER SET ascii DEFAULT p_wants;
    DECLARE v_name VARBINARY(255);
    DECLARE v_shared TINYINT;
    DECLARE v_token BIGINT;
    DECLARE v_kept INT;
    DECLARE v_technique VARCHAR(16) CHARACTER SET utf8mb4;

    {prepare_begins};
    BEGIN
        {handler_rolls_back};

        START TRANSACTION READ WRITE;
        SELECT technique INTO v_technique FROM rowlock_meta;
        WHILE v_technique = 'row' AND v_rest <> '' DO
            CALL rowlock_next_want(v_rest, v_name, v_shared, v_token);
            SELECT count(*) INTO v_kept FROM rowlock_prepared WHERE name = v_name;
            IF v_kept = 0 THEN
                INSERT IGNORE INTO rowlock_prepared (name) VALUES (v_name);
            END IF;
        END WHILE;
        COMMIT AND NO CHAIN NO RELEASE;
    END;
    CALL rowlock_prepare_wants(p_wants);        -- after that COMMIT: see rowlock_vacuum_names
END//

-- Creates the missing rows of prepared names.
CREATE OR REPLACE PROCEDURE rowlock_restore_prepared()
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_end TINYINT DEFAULT 0;
    DECLARE v_name VARBINARY(255);
    DECLARE c_names CURSOR FOR
        SELECT name FROM rowlock_prepared WHERE name NOT IN (SELECT name FROM rowlock_name);
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_end = 1;

    OPEN c_names;
    COMMIT AND NO CHAIN NO RELEASE;             -- the cursor has read all it needs
    names: LOOP
        FETCH c_names INTO v_name;
        IF v_end THEN
            LEAVE names;
        END IF;
        CALL rowlock_ensure(v_name);
    END LOOP;
    CLOSE c_names;
END//

-- A shared lease beside a shared lock sets `many` only if it is 0, and would have to wait for the
-- lock: so this sets it before, where no other session has the row locked.
CREATE OR REPLACE PROCEDURE rowlock_mark_shared(IN p_wants LONGTEXT CHARACTER SET ascii)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_name VARBINARY(255);
    DECLARE v_shared, v_many TINYINT;
    DECLARE v_token BIGINT;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;

    WHILE p_wants <> '' DO
        CALL rowlock_next_want(p_wants, v_name, v_shared, v_token);
        SET v_many = NULL;
        IF v_shared AND v_token = 0 THEN
            SELECT many INTO v_many FROM rowlock_name WHERE name = v_name AND held = 0;
        END IF;
        IF v_many = 0 THEN
            BEGIN
                {handler_rolls_back};

                START TRANSACTION READ WRITE;
                SET v_many = NULL;
                SELECT many INTO v_many FROM rowlock_name FORCE INDEX (PRIMARY)
                 WHERE name = v_name FOR UPDATE SKIP LOCKED;
                IF v_many = 0 THEN
                    UPDATE rowlock_name FORCE INDEX (PRIMARY) SET many = 2
                     WHERE name = v_name AND held = 0;
                END IF;
                COMMIT AND NO CHAIN NO RELEASE;
            END;
        END IF;
    END WHILE;
    COMMIT AND NO CHAIN NO RELEASE;
END//

-- Begins a transaction at READ COMMITTED and locks the wants in it. p_wait_ms: 0 does not wait, -1
-- has no limit, -2 uses the session's innodb_lock_wait_timeout, otherwise milliseconds (rounded up
-- to seconds). After any status other than 0 no transaction is open. It never waits for a lease.
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
    {check_session};
    CALL rowlock_seconds(p_wait_ms, 1, v_seconds);
    SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
    IF LOCATE(':s:', p_wants) > 0 THEN
        CALL rowlock_mark_shared(p_wants);
    END IF;
    again: LOOP
        BEGIN
            {handler_refuses};
            DECLARE EXIT HANDLER FOR 1213 SET p_status = NULL;  -- nothing is lost: retry
            {handler_rolls_back};

            SET v_rest = p_wants, p_status = 0;
            START TRANSACTION READ WRITE;
            WHILE v_rest <> '' AND p_status = 0 DO
                CALL rowlock_next_want(v_rest, p_name, v_shared, v_token);
                IF v_token <> 0 THEN
                    CALL rowlock_lock_own_lease(p_name, v_shared, v_token, v_seconds, p_status);
                ELSE
                    CALL rowlock_name_lock(p_name, v_shared, v_seconds, p_status, p_detail);
                    IF p_status IN (0, 3) THEN
                        CALL rowlock_look(p_name, v_shared, v_all, v_live);
                        IF v_all > 0 THEN
                            CALL rowlock_describe_holder(p_name, p_detail);
                            SET p_status = IF(v_live > 0, 3, 4);
                        ELSEIF p_status = 3 THEN        -- the lease has ended meanwhile
                            SET p_status = NULL;
                        END IF;
                    END IF;
                END IF;
            END WHILE;
            IF NOT p_status <=> 0 THEN
                ROLLBACK AND NO CHAIN NO RELEASE;
            END IF;
        END;
        IF p_status = 5 THEN
            CALL rowlock_prepare_wants(p_wants);
        ELSEIF p_status IS NOT NULL THEN
            LEAVE again;
        ELSE
            -- two deadlock victims that retry together would collide again
            DO SLEEP(RAND() * 0.02);
        END IF;
    END LOOP;
    IF p_status = 0 THEN
        SET p_name = NULL;
    END IF;
END//

-- Checks for leases while all the wants are locked. p_status: 0 no conflict, 3 a live lease of
-- p_name, 4 only expired leases, such as one of p_name.
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

-- rowlock_name_lock in the caller's transaction, where a leased row must not stay locked: tries for
-- 50 ms, longer than a grant or a release takes, and only then waits, for a transaction. If a lease
-- came first after such a wait, nothing but a rollback can unlock its row: the caller begins again,
-- as a deadlock's victim.
CREATE OR REPLACE PROCEDURE rowlock_name_lock_within(
    IN p_name VARBINARY(255), IN p_shared TINYINT, IN p_seconds INT,
    OUT p_status TINYINT, OUT p_detail VARCHAR(400) CHARACTER SET utf8mb4)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_technique VARCHAR(16) CHARACTER SET utf8mb4;
    DECLARE v_text VARCHAR(512) CHARACTER SET utf8mb4;
    DECLARE v_tries INT DEFAULT 0;
    DECLARE v_slept TINYINT DEFAULT 0;

    SELECT technique INTO v_technique FROM rowlock_meta;
    SET p_status = 1;
    WHILE p_status = 1 AND v_tries < 10 AND v_slept = 0 AND v_technique = 'row'
          AND p_seconds <> 0 DO
        CALL rowlock_name_lock(p_name, p_shared, 0, p_status, p_detail);
        SET v_tries = v_tries + 1;
        IF p_status = 1 THEN
            SELECT SLEEP(0.005) INTO v_slept;
        END IF;
    END WHILE;
    IF v_slept THEN                             -- interrupted, or by max_statement_time
        SET p_status = IF(@@max_statement_time > 0, 2, 7);
    ELSEIF p_status = 1 THEN
        CALL rowlock_name_lock(p_name, p_shared, p_seconds, p_status, p_detail);
        IF p_status = 3 AND p_detail IS NOT NULL THEN
            SET v_text = LEFT(CONCAT('rowlock: \'', LEFT(CONVERT(p_name USING utf8mb4), 100),
                '\' was leased while your transaction waited for it, which was rolled back: begin '
                'again'), 500);
            ROLLBACK AND NO CHAIN NO RELEASE;
            SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213, MESSAGE_TEXT = v_text;
        END IF;
    END IF;
END//

-- Locks the wants in the open transaction. p_lease_ms: how long it may wait for leases while the
-- names are locked. p_sweep: 1 if it may sweep expired leases in this transaction, 0 if the caller
-- does it elsewhere (status 4). p_stays: 1 if a requested row stays locked despite a refusal.
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
    DECLARE v_slept, v_leased TINYINT;
    DECLARE v_again INT DEFAULT 0;
    DECLARE v_pause DOUBLE DEFAULT 0.01;
    DECLARE v_end DATETIME(6);              -- set while waiting for a lease
    DECLARE EXIT HANDLER FOR 1317 SET p_status = 7;
    DECLARE EXIT HANDLER FOR 1205, 1969
    BEGIN
        IF p_wait_ms = 0 AND NOT @@in_transaction THEN  -- see rowlock_lock_beneath
            SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213, MESSAGE_TEXT =
                'rowlock: another transaction with the token is locking its name for the first '
                'time, and innodb_rollback_on_timeout is set: the server rolled back your whole '
                'transaction; begin again';
        END IF;
        SET p_status = IF(v_end IS NULL, 2, 3);
        IF v_end IS NOT NULL THEN
            CALL rowlock_describe_holder(p_name, p_detail);
        END IF;
    END;

    SET p_stays = 0;
    {require_transaction p_wants};
    {check_session};
    CALL rowlock_may_try(p_wait_ms);
    CALL rowlock_seconds(p_wait_ms, NOT @@innodb_rollback_on_timeout, v_seconds);
    IF p_wait_ms = 0 THEN       -- check first: a row once locked stays locked until the end
        CALL rowlock_look_at_wants(p_wants, p_status, p_name);
        IF p_status = 3 OR (p_status = 4 AND NOT p_sweep) THEN
            CALL rowlock_describe_holder(p_name, p_detail);
            LEAVE whole;
        END IF;
    END IF;
    looks: LOOP
        SET v_rest = p_wants, v_leased = 0;
        WHILE v_rest <> '' DO
            CALL rowlock_next_want(v_rest, p_name, v_shared, v_token);
            IF v_token <> 0 THEN
                CALL rowlock_lock_own_lease(p_name, v_shared, v_token, v_seconds, p_status);
            ELSE
                CALL rowlock_name_lock_within(p_name, v_shared, v_seconds, p_status, p_detail);
            END IF;
            IF p_status = 3 THEN                -- leased, and not locked
                SET v_leased = 1;
            ELSEIF p_status <> 0 THEN
                LEAVE whole;
            ELSE
                SET p_stays = 1;
            END IF;
        END WHILE;
        CALL rowlock_look_at_wants(p_wants, p_status, p_name);
        IF p_status = 4 AND p_sweep THEN
            CALL rowlock_sweep_within(p_wants);
            CALL rowlock_look_at_wants(p_wants, p_status, p_name);
        END IF;
        IF p_status = 0 AND v_leased AND v_again < 10 THEN  -- ended meanwhile, and not yet locked
            SET v_again = v_again + 1;
            ITERATE looks;
        END IF;
        IF p_status = 0 AND NOT v_leased OR (p_status = 4 AND NOT p_sweep) THEN
            LEAVE looks;
        END IF;
        IF v_end IS NULL THEN
            SET v_end = utc_timestamp(6) + INTERVAL LEAST(p_lease_ms * 1000,
                IF(@@max_statement_time > 0, @@max_statement_time * 1000000,
                   p_lease_ms * 1000)) MICROSECOND;
        END IF;
        IF p_wait_ms = 0 OR utc_timestamp(6) >= v_end THEN
            SET p_status = 3;
            LEAVE looks;
        END IF;
        SELECT SLEEP(v_pause) INTO v_slept;     -- DO SLEEP would ignore a KILL QUERY, and 1969
        IF v_slept THEN
            SET p_status = IF(@@max_statement_time > 0, 3, 7);
            LEAVE looks;
        END IF;
        -- a lease of rowlock_name: often, because the next lease must not come first each time
        SET v_pause = LEAST(v_pause * 1.5, IF(v_leased, 0.005, 0.25));
    END LOOP;
    IF p_status = 0 THEN
        SET p_name = NULL, p_stays = 0;
    ELSE
        CALL rowlock_describe_holder(p_name, p_detail);
    END IF;
END//

-- For the C library: the same, with the status row as a result set (rowlock_begin_lock belongs to
-- the technique).
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

-- Lists the holders of a name: leases, and transactions for whose row another session waits, if the
-- caller may see them (privilege PROCESS).
CREATE OR REPLACE PROCEDURE rowlock_holder(IN p_name VARBINARY(255))
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE v_n BIGINT;
    DECLARE EXIT HANDLER FOR 1142, 1227
        SELECT 'lease' AS kind, l.pid, l.host, l.command AS program,
               DATE_FORMAT(l.acquired, '%Y-%m-%dT%H:%i:%s.%fZ') AS since,
               DATE_FORMAT(l.expires, '%Y-%m-%dT%H:%i:%s.%fZ') AS expires, l.note,
               {others_wait} AS waiting
          FROM rowlock_held l
         WHERE l.name = p_name
         ORDER BY l.expires DESC, l.token;

    -- raises the error before the answer begins: a client would read that as an empty result set
    SELECT count(*) INTO v_n FROM information_schema.innodb_trx;
    SELECT h.* FROM (
        SELECT 'lease' AS kind, l.pid, l.host, l.command AS program,
               DATE_FORMAT(l.acquired, '%Y-%m-%dT%H:%i:%s.%fZ') AS since,
               DATE_FORMAT(l.expires, '%Y-%m-%dT%H:%i:%s.%fZ') AS expires, l.note,
               {others_wait} AS waiting
          FROM rowlock_held l
         WHERE l.name = p_name
        UNION ALL
        SELECT 'transaction', NULLIF(t.trx_mysql_thread_id, 0), SUBSTRING_INDEX(p.host, ':', 1),
               IF(t.trx_mysql_thread_id = 0, 'prepared transaction (see XA RECOVER)', p.user),
               DATE_FORMAT(CONVERT_TZ(t.trx_started, 'SYSTEM', '+00:00'), '%Y-%m-%dT%H:%i:%s.000Z'),
               NULL, NULL, count(DISTINCT w.requesting_trx_id)
          FROM information_schema.innodb_locks k
          JOIN information_schema.innodb_lock_waits w ON w.blocking_lock_id = k.lock_id
          JOIN information_schema.innodb_trx t
            ON t.trx_id = k.lock_trx_id AND t.trx_state <> 'LOCK WAIT'
          LEFT JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id
         WHERE k.lock_table = CONCAT('`', REPLACE(DATABASE(), '`', '``'), '`.`rowlock_name`')
           AND k.lock_data = CONCAT('0x', LOWER(HEX(p_name))) AND k.lock_index = 'PRIMARY'
           AND (t.trx_id <> 0 OR 1 = (SELECT count(*) FROM information_schema.innodb_trx o
                                       WHERE o.trx_id = 0))
         GROUP BY t.trx_mysql_thread_id, p.host, p.user, t.trx_started
    ) h ORDER BY h.kind, h.expires DESC, h.since;
END//

{end_of_piece};
