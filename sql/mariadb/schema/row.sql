-- rowlock on MariaDB, technique row: the name lock is a row lock on a row of the name, which is
-- committed before it is locked, and kept. No other technique is without deadlocks on InnoDB: to
-- insert the row inside the locking transaction would cause them. Run install.sql first.

{own_mode};

DELIMITER //

-- Creates the row of a name. Reads first, because an INSERT would wait for the session that has the
-- row locked. If another session is inserting the row now (1205), it will exist soon, and the lock
-- finds it or retries.
CREATE OR REPLACE PROCEDURE rowlock_ensure(IN p_name VARBINARY(255))
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_row INT DEFAULT 0;
    DECLARE CONTINUE HANDLER FOR 1205, 1213 BEGIN END;

    SELECT count(*) INTO v_row FROM rowlock_name WHERE name = p_name;
    IF v_row = 0 THEN
        START TRANSACTION READ WRITE;       -- the session's default may be READ ONLY
        SET STATEMENT innodb_lock_wait_timeout = 0 FOR
            INSERT IGNORE INTO rowlock_name (name) VALUES (p_name);
    END IF;
    COMMIT AND NO CHAIN NO RELEASE;
END//

-- p_status: 0 locked, 1 busy, 5 the row does not exist (a locking read of zero rows locks nothing).
CREATE OR REPLACE PROCEDURE rowlock_name_lock(
    IN p_name VARBINARY(255), IN p_shared TINYINT, IN p_seconds INT,
    OUT p_status TINYINT, OUT p_detail VARCHAR(400) CHARACTER SET utf8mb4)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_row INT DEFAULT 0;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;

    IF p_seconds = 0 THEN
        IF p_shared THEN
            SELECT 1 INTO v_row FROM rowlock_name
             WHERE name = p_name LOCK IN SHARE MODE SKIP LOCKED;
        ELSE
            SELECT 1 INTO v_row FROM rowlock_name WHERE name = p_name FOR UPDATE SKIP LOCKED;
        END IF;
        IF v_row = 0 THEN
            SELECT count(*) INTO v_row FROM rowlock_name WHERE name = p_name;
            SET p_status = IF(v_row = 0, 5, 1), v_row = 0;
        ELSE
            SET p_status = 0;
        END IF;
    ELSE
        SET p_seconds = IF(p_seconds < 0, @@innodb_lock_wait_timeout, p_seconds);
        IF p_shared THEN
            SET STATEMENT innodb_lock_wait_timeout = p_seconds FOR
                SELECT 1 INTO v_row FROM rowlock_name WHERE name = p_name LOCK IN SHARE MODE;
        ELSE
            SET STATEMENT innodb_lock_wait_timeout = p_seconds FOR
                SELECT 1 INTO v_row FROM rowlock_name WHERE name = p_name FOR UPDATE;
        END IF;
        SET p_status = IF(v_row = 0, 5, 0);
    END IF;
END//

-- A try is always possible with this technique: it skips locked rows.
CREATE OR REPLACE PROCEDURE rowlock_may_try(IN p_wait_ms BIGINT)
    SQL SECURITY INVOKER NO SQL
BEGIN
END//

-- For the C library: rowlock_begin_wants with the status row as a result set. Most calls lock one
-- name that has a row and no lease. That case is written out here, which takes half the time, and
-- returns no row, because a result set costs a tenth of it. In any other case it rolls back and
-- calls the general procedure.
CREATE OR REPLACE PROCEDURE rowlock_begin_lock(IN p_wants LONGBLOB, IN p_wait_ms BIGINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_name VARBINARY(255);
    DECLARE v_row TINYINT;                      -- NULL: the row was not found
    DECLARE v_leases INT;                       -- NULL: no answer, which never counts as free
    DECLARE v_status TINYINT;
    DECLARE EXIT HANDLER FOR 1205, 1969
    BEGIN
        ROLLBACK AND NO CHAIN NO RELEASE;
        SELECT 2 AS status, v_name AS name, 0 AS stays, NULL AS detail;
    END;
    DECLARE EXIT HANDLER FOR 1317
    BEGIN
        ROLLBACK AND NO CHAIN NO RELEASE;
        SELECT 7 AS status, v_name AS name, 0 AS stays, NULL AS detail;
    END;
    DECLARE CONTINUE HANDLER FOR 1213 SET v_row = NULL;     -- nothing is lost

    IF NOT (@@in_transaction OR @@read_only OR @@GLOBAL.wsrep_on OR @rowlock_idle IS NOT NULL)
       AND p_wait_ms <> 0 AND LOCATE(',', p_wants) = 0 AND RIGHT(p_wants, 2) = ':0' THEN
        SET v_name = UNHEX(LEFT(p_wants, LENGTH(p_wants) - 4));
        IF @@tx_isolation <> 'READ-COMMITTED' THEN
            SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
        END IF;
        START TRANSACTION READ WRITE;
        IF RIGHT(p_wants, 4) = ':x:0' THEN
            SET STATEMENT innodb_lock_wait_timeout =
                    IF(p_wait_ms < 0, 100000000, LEAST(CEILING(p_wait_ms / 1000), 100000000)) FOR
                SELECT 1 INTO v_row FROM rowlock_name WHERE name = v_name FOR UPDATE;
            SELECT count(*) INTO v_leases FROM rowlock_lease WHERE name = v_name;
        ELSE
            SET STATEMENT innodb_lock_wait_timeout =
                    IF(p_wait_ms < 0, 100000000, LEAST(CEILING(p_wait_ms / 1000), 100000000)) FOR
                SELECT 1 INTO v_row FROM rowlock_name WHERE name = v_name LOCK IN SHARE MODE;
            SELECT count(*) INTO v_leases FROM rowlock_lease
             WHERE name = v_name AND mode <> 'shared';
        END IF;
    END IF;
    IF v_row IS NULL OR NOT (v_leases <=> 0) THEN
        BEGIN
            DECLARE v_detail VARCHAR(400) CHARACTER SET utf8mb4;

            IF v_name IS NOT NULL THEN
                ROLLBACK AND NO CHAIN NO RELEASE;
            END IF;
            CALL rowlock_begin_wants(p_wants, p_wait_ms, v_status, v_name, v_detail);
            SELECT v_status AS status, v_name AS name, 0 AS stays, v_detail AS detail;
        END;
    END IF;
END//

-- Grants a lease. Most calls are for one name, exclusively, which has a row, no lease and no other
-- waiter. That case is written out here, in as few statements as possible. In any other case it
-- rolls back and calls the general procedure. The check is a statement that begins after the name
-- lock was taken.
--
-- A try inserts the row of a new name in its own transaction, which saves a COMMIT and thus a wait
-- for the disk. The inserted row is locked, but other sessions wait for it only briefly, because
-- the transaction ends within this call. It waits for no session that inserts the same row.
--
-- A try that found a lease or a waiter is answered here too, without the name lock: the next holder
-- must not find that locked by a caller that is about to queue.
CREATE OR REPLACE PROCEDURE rowlock_grant(
    {grant_parameters LONGBLOB})
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_name VARBINARY(255);
    DECLARE v_locked INT;                       -- NULL: the name's row was not locked
    DECLARE v_there INT DEFAULT 1;              -- 0: this call inserts that row
    DECLARE v_leases INT;                       -- NULL: no answer, which never counts as free
    DECLARE v_head, v_token, v_waited BIGINT;
    DECLARE v_quiet_until DATETIME(6);
    DECLARE v_status TINYINT;

    IF RIGHT(p_wants, 6) = ':x:0:0' AND LOCATE(',', p_wants) = 0
       AND @@tx_isolation = 'READ-COMMITTED'
       AND NOT (@@in_transaction OR @@read_only OR @@GLOBAL.wsrep_on
                OR @rowlock_idle IS NOT NULL) THEN
        BEGIN
            DECLARE EXIT HANDLER FOR 1213 BEGIN END;    -- nothing is lost
            DECLARE EXIT HANDLER FOR 1205, 1969 SET v_status = 2;
            DECLARE EXIT HANDLER FOR 1317 SET v_status = 7;
            {handler_rolls_back};

            CALL rowlock_real_time();
            SET v_name = UNHEX(LEFT(p_wants, LENGTH(p_wants) - 6));
            START TRANSACTION READ WRITE;
            IF p_wait_ms BETWEEN 0 AND 999 THEN         -- see rowlock_grant_answer
                SELECT 1 INTO v_locked FROM rowlock_name
                 WHERE name = v_name FOR UPDATE SKIP LOCKED;
                IF v_locked IS NULL THEN
                    SELECT count(*) INTO v_there FROM rowlock_name WHERE name = v_name;
                END IF;
                IF v_there = 0 AND p_wait_ms = 0 THEN
                    BEGIN               -- another session inserts it now, or has inserted it
                        DECLARE EXIT HANDLER FOR 1205, 1062 BEGIN END;

                        SET STATEMENT innodb_lock_wait_timeout = 0 FOR
                            INSERT INTO rowlock_name (name) VALUES (v_name);
                        SET v_locked = 1;
                    END;
                END IF;
            ELSE
                SET STATEMENT innodb_lock_wait_timeout =
                        IF(p_wait_ms < 0, 100000000, LEAST(CEILING(p_wait_ms / 1000), 100000000))
                            FOR
                    SELECT 1 INTO v_locked FROM rowlock_name
                     WHERE name = v_name FOR UPDATE;
            END IF;
            IF v_locked IS NOT NULL THEN
                SELECT (SELECT count(*) FROM rowlock_lease WHERE name = v_name),
                       (SELECT COALESCE(MIN(ticket), 0) FROM rowlock_waiter WHERE name = v_name),
                       NEXTVAL(rowlock_token),
                       -- before that time a release leaves no row in the history
                       CASE history WHEN 'all' THEN '1970-01-01'
                                    WHEN 'slow' THEN utc_timestamp(6) + INTERVAL 10 SECOND
                                    ELSE '9999-12-31' END
                  INTO v_leases, v_head, v_token, v_quiet_until
                  FROM rowlock_meta WHERE only_one = 1;
                IF v_leases = 0 AND v_head = p_ticket THEN
                    IF v_token < TIMESTAMPDIFF(MICROSECOND, '1970-01-01', utc_timestamp(6)) - 10000
                        THEN
                        CALL rowlock_draw(v_token);
                    END IF;
                    IF p_ticket <> 0 THEN
                        SELECT TIMESTAMPDIFF(MICROSECOND, MIN(since), utc_timestamp(6)) DIV 1000
                          INTO v_waited FROM rowlock_waiter WHERE ticket = p_ticket;
                        SET v_waited = GREATEST(COALESCE(v_waited, 0), 0),
                            v_quiet_until = IF(v_waited >= 1000, '1970-01-01', v_quiet_until);
                    END IF;
                    INSERT INTO rowlock_lease (token, name, mode, owner, host, pid, command, note,
                                               acquired, waited)
                        VALUES (v_token, v_name, 1, p_owner, p_host, p_pid, p_command, p_note,
                                utc_timestamp(6), COALESCE(v_waited, 0));
                    INSERT INTO rowlock_heartbeat (token, expires, quiet_until)
                        VALUES (v_token, {after p_ttl_ms},
                                COALESCE(v_quiet_until, '1970-01-01'));
                    IF p_ticket <> 0 THEN
                        DELETE FROM rowlock_waiter WHERE ticket = p_ticket;
                        IF ROW_COUNT() <= 0 THEN    -- removed meanwhile, or killed: see rowlock_end
                            DELETE FROM rowlock_waiter WHERE ticket = p_ticket;
                        END IF;
                    END IF;
                    IF p_session = CONNECTION_ID() THEN
                        DO GET_LOCK(CONCAT('rowlock:', MD5(DATABASE()), ':', v_token), 0);
                    END IF;
                    IF p_wait_ms = 0 THEN
                        COMMIT AND NO CHAIN NO RELEASE;
                    ELSEIF p_session = CONNECTION_ID() THEN
                        CALL rowlock_set_idle_limit();
                    END IF;
                    SET v_status = 0;
                END IF;
            END IF;
        END;
    END IF;
    IF v_name IS NOT NULL AND (v_status IS NULL OR v_status <> 0) THEN
        ROLLBACK AND NO CHAIN NO RELEASE;
    END IF;
    IF v_status = 0 THEN
        IF p_wait_ms = 0 AND p_ticket <> 0 THEN
            DO RELEASE_LOCK(CONCAT('rowlock:', MD5(DATABASE()), ':', p_ticket));
        END IF;
        SELECT 0 AS status, NULL AS name, v_token AS token, 0 AS number, NULL AS detail;
    ELSEIF v_status <> 0 THEN
        SELECT v_status AS status, v_name AS name, 0 AS token, 0 AS number, NULL AS detail;
    ELSE
        IF v_leases IS NOT NULL AND p_wait_ms = 0 AND p_ticket = 0 THEN
            BEGIN
                DECLARE v_owner VARBINARY(255);
                DECLARE v_gone TINYINT;
                DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;

                CALL rowlock_require_no_transaction();
                SET v_token = 0;
                IF v_leases > 0 THEN
                    SELECT l.token, l.owner INTO v_token, v_owner
                      FROM rowlock_lease l JOIN rowlock_heartbeat b ON b.token = l.token
                     WHERE l.name = v_name AND b.expires > utc_timestamp(6)
                     ORDER BY b.expires, l.token LIMIT 1;
                    COMMIT AND NO CHAIN NO RELEASE;
                    SET v_status = IF(v_token <> 0 AND v_owner <> p_owner, 3, NULL);
                ELSE
                    SELECT COALESCE(MAX(ticket), 0) INTO v_token FROM rowlock_waiter
                     WHERE name = v_name;
                    COMMIT AND NO CHAIN NO RELEASE;
                    CALL rowlock_remove_dead(CONVERT(p_wants USING ascii), 0, v_token, v_gone);
                    SET v_status = IF(v_token <> 0 AND v_gone = 0, 11, NULL);
                END IF;
            END;
        END IF;
        IF v_status IS NULL THEN
            CALL rowlock_grant_wants(CONVERT(p_wants USING ascii), p_owner, p_ttl_ms, p_wait_ms,
                                     p_ticket, p_session, p_host, p_pid, p_command, p_note);
        ELSE
            SELECT v_status AS status, v_name AS name, 0 AS token, v_token AS number,
                   NULL AS detail;
        END IF;
    END IF;
END//

-- Deletes the row of a name in the caller's transaction, unless another session has it locked too.
CREATE OR REPLACE PROCEDURE rowlock_remove(IN p_name VARBINARY(255))
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_row TINYINT DEFAULT 0;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;

    SELECT 1 INTO v_row FROM rowlock_name WHERE name = p_name FOR UPDATE SKIP LOCKED;
    IF v_row THEN
        DELETE FROM rowlock_name WHERE name = p_name;
        DELETE FROM rowlock_prepared WHERE name = p_name;
    END IF;
END//

-- Deletes rows of names that are not prepared and that no session has locked, a hundred per
-- transaction. A session that needs one meanwhile creates it again; a call that prepares a name may
-- still have seen the row, so this creates it again after each COMMIT.
CREATE OR REPLACE PROCEDURE rowlock_vacuum_names(OUT p_removed BIGINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_end, v_row TINYINT DEFAULT 0;
    DECLARE v_batch INT DEFAULT 0;
    DECLARE v_name VARBINARY(255);
    DECLARE c_names CURSOR FOR
        SELECT name FROM rowlock_name WHERE name NOT IN (SELECT name FROM rowlock_prepared);
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_end = 1;

    SET p_removed = 0;
    OPEN c_names;
    COMMIT AND NO CHAIN NO RELEASE;
    START TRANSACTION READ WRITE;
    names: LOOP
        FETCH c_names INTO v_name;
        IF v_end THEN
            LEAVE names;
        END IF;
        SET v_row = 0;
        SELECT 1 INTO v_row FROM rowlock_name WHERE name = v_name FOR UPDATE SKIP LOCKED;
        SET v_end = 0;
        IF v_row THEN
            DELETE FROM rowlock_name WHERE name = v_name;
            SET p_removed = p_removed + 1, v_batch = v_batch + 1;
        END IF;
        IF v_batch = 100 THEN
            COMMIT AND NO CHAIN NO RELEASE;
            CALL rowlock_restore_prepared();
            START TRANSACTION READ WRITE;
            SET v_batch = 0;
        END IF;
    END LOOP;
    CLOSE c_names;
    COMMIT AND NO CHAIN NO RELEASE;
    CALL rowlock_restore_prepared();
END//

{end_of_piece};

SET @rowlock_technique = 'row', @rowlock_table = NULL, @rowlock_width = NULL, @rowlock_owned = 0;
