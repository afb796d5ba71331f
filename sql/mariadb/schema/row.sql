-- rowlock on MariaDB, technique row: the name lock is a row lock on a row of the name, which is
-- committed before it is locked, and kept. No other technique is without deadlocks on InnoDB: to
-- insert the row inside the locking transaction would cause them. Run install.sql first.

{own_mode};

DELIMITER //

-- Creates the row of a name; its tokens begin above those of an earlier row. Reads first, because
-- an INSERT would wait for the session that has the row locked. If another session is inserting the
-- row now (1205), it will exist soon, and the lock finds it or retries.
CREATE OR REPLACE PROCEDURE rowlock_ensure(IN p_name VARBINARY(255))
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_row INT DEFAULT 0;
    DECLARE CONTINUE HANDLER FOR 1205, 1213 BEGIN END;

    SELECT count(*) INTO v_row FROM rowlock_name WHERE name = p_name;
    IF v_row = 0 THEN
        START TRANSACTION READ WRITE;       -- the session's default may be READ ONLY
        CALL rowlock_insert_name(p_name, 1, v_row);
    END IF;
    COMMIT AND NO CHAIN NO RELEASE;
END//

-- Inserts the row of a name in the open transaction, which then has it locked. Waits for no lock.
-- p_row: 0 if it exists, or another session inserts it.
CREATE OR REPLACE PROCEDURE rowlock_insert_name(
    IN p_name VARBINARY(255), IN p_many TINYINT, OUT p_row INT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_least BIGINT;
    DECLARE EXIT HANDLER FOR 1205, 1062 SET p_row = 0;

    SET p_row = 0;
    CALL rowlock_draw(0, v_least);
    SET STATEMENT innodb_lock_wait_timeout = 0 FOR
        INSERT INTO rowlock_name (name, least, many) VALUES (p_name, v_least, p_many);
    SET p_row = 1;
END//

-- p_status: 0 locked, 1 busy, 3 a lease has the row, which is not locked (its holder must be able
-- to renew it), 5 the row does not exist (a locking read of zero rows locks nothing). The range in
-- place of name = p_name lets InnoDB unlock a row that has a lease, at READ COMMITTED; but not one
-- for which it has waited: then p_status is 3 and p_detail is not NULL, and the row stays locked.
-- With a limit of 0 a SKIP LOCKED that meets a locked row is the error 1180 (10.11.19): it has 1.
CREATE OR REPLACE PROCEDURE rowlock_name_lock(
    IN p_name VARBINARY(255), IN p_shared TINYINT, IN p_seconds INT,
    OUT p_status TINYINT, OUT p_detail VARCHAR(400) CHARACTER SET utf8mb4)
    SQL SECURITY INVOKER MODIFIES SQL DATA
whole: BEGIN
    DECLARE v_row INT DEFAULT 0;
    DECLARE v_held TINYINT;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;

    SET p_detail = NULL;
    SELECT held INTO v_held FROM rowlock_name WHERE name = p_name;
    IF v_held = 1 THEN
        SET p_status = 3;
        LEAVE whole;
    END IF;
    IF p_seconds = 0 THEN
        IF p_shared THEN
            SET STATEMENT innodb_lock_wait_timeout = 1 FOR
                SELECT 1 INTO v_row FROM rowlock_name FORCE INDEX (PRIMARY)
                 WHERE name >= p_name AND name <= p_name
                   AND held = 0 LOCK IN SHARE MODE SKIP LOCKED;
        ELSE
            SET STATEMENT innodb_lock_wait_timeout = 1 FOR
                SELECT 1 INTO v_row FROM rowlock_name FORCE INDEX (PRIMARY)
                 WHERE name >= p_name AND name <= p_name AND held = 0 FOR UPDATE SKIP LOCKED;
        END IF;
    ELSE
        SET p_seconds = IF(p_seconds < 0, @@innodb_lock_wait_timeout, p_seconds);
        IF p_shared THEN
            SET STATEMENT innodb_lock_wait_timeout = p_seconds FOR
                SELECT 1 INTO v_row FROM rowlock_name FORCE INDEX (PRIMARY)
                 WHERE name >= p_name AND name <= p_name AND held = 0 LOCK IN SHARE MODE;
        ELSE
            SET STATEMENT innodb_lock_wait_timeout = p_seconds FOR
                SELECT 1 INTO v_row FROM rowlock_name FORCE INDEX (PRIMARY)
                 WHERE name >= p_name AND name <= p_name AND held = 0 FOR UPDATE;
        END IF;
    END IF;
    IF v_row = 0 THEN
        SET v_held = NULL;
        SELECT held INTO v_held FROM rowlock_name WHERE name = p_name;
    END IF;
    SET p_status = CASE WHEN v_row = 1 THEN 0 WHEN v_held IS NULL THEN 5
                        WHEN p_seconds = 0 AND v_held = 0 THEN 1 ELSE 3 END,
        p_detail = IF(p_status = 3 AND p_seconds <> 0, 'locked', NULL);
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
    DECLARE v_row TINYINT;              -- NULL: no free row was found; or see rowlock_mark_shared
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

    IF NOT (@@in_transaction OR {reads_only} OR @@GLOBAL.wsrep_on
            OR @rowlock_idle IS NOT NULL)
       AND p_wait_ms <> 0 AND LOCATE(',', p_wants) = 0 AND RIGHT(p_wants, 2) = ':0' THEN
        SET v_name = UNHEX(LEFT(p_wants, LENGTH(p_wants) - 4));
        IF @@tx_isolation <> 'READ-COMMITTED' THEN
            SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
        END IF;
        START TRANSACTION READ WRITE;
        IF RIGHT(p_wants, 4) = ':x:0' THEN
            SET STATEMENT innodb_lock_wait_timeout =
                    IF(p_wait_ms < 0, 100000000, LEAST(CEILING(p_wait_ms / 1000), 100000000)) FOR
                SELECT 1 INTO v_row FROM rowlock_name FORCE INDEX (PRIMARY)
                 WHERE name >= v_name AND name <= v_name AND held = 0 FOR UPDATE;
            SELECT count(*) INTO v_leases FROM rowlock_lease WHERE name = v_name;
        ELSE
            SET STATEMENT innodb_lock_wait_timeout =
                    IF(p_wait_ms < 0, 100000000, LEAST(CEILING(p_wait_ms / 1000), 100000000)) FOR
                SELECT NULLIF(many, 0) INTO v_row FROM rowlock_name FORCE INDEX (PRIMARY)
                 WHERE name >= v_name AND name <= v_name AND held = 0 LOCK IN SHARE MODE;
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

-- Deletes the row of a name in the open transaction, unless it has a lease, or another session has
-- it locked too. Later tokens of the name are greater than its own.
CREATE OR REPLACE PROCEDURE rowlock_remove_row(IN p_name VARBINARY(255), OUT p_removed TINYINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_least, v_number BIGINT;
    DECLARE v_leases INT DEFAULT 1;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;

    SET p_removed = 0;
    SET STATEMENT innodb_lock_wait_timeout = 1 FOR
        SELECT GREATEST(COALESCE(token, 0), least) INTO v_least
          FROM rowlock_name FORCE INDEX (rowlock_name_fence)
         WHERE name >= p_name AND name <= p_name AND held = 0 FOR UPDATE SKIP LOCKED;
    IF v_least IS NOT NULL THEN
        SELECT count(*) INTO v_leases FROM rowlock_lease WHERE name = p_name;
        IF v_leases = 0 THEN
            CALL rowlock_draw(v_least, v_number);
            DELETE FROM rowlock_name WHERE name = p_name;
            SET p_removed = ROW_COUNT() > 0;
        END IF;
    END IF;
END//

CREATE OR REPLACE PROCEDURE rowlock_remove(IN p_name VARBINARY(255))
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_removed TINYINT;

    CALL rowlock_remove_row(p_name, v_removed);
    IF v_removed THEN
        DELETE FROM rowlock_prepared WHERE name = p_name;
    END IF;
END//

-- Deletes rows of names that are not prepared and free, and that no session has locked, a hundred
-- per transaction. A session that needs one meanwhile creates it again; a call that prepares a name
-- may still have seen the row, so this creates it again after each COMMIT.
CREATE OR REPLACE PROCEDURE rowlock_vacuum_names(OUT p_removed BIGINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_end, v_removed TINYINT DEFAULT 0;
    DECLARE v_batch INT DEFAULT 0;
    DECLARE v_name VARBINARY(255);
    DECLARE c_names CURSOR FOR
        SELECT name FROM rowlock_name
         WHERE held = 0 AND name NOT IN (SELECT name FROM rowlock_prepared);
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
        CALL rowlock_remove_row(v_name, v_removed);
        IF v_removed THEN
            DELETE FROM rowlock_beneath WHERE name = v_name;
            SET p_removed = p_removed + 1;
        END IF;
        SET v_batch = v_batch + 1;
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
