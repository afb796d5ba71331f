-- MySQL's versions of procedures in sql/mariadb/schema/lease.sql: without SEQUENCE, SET STATEMENT
-- ... FOR, idle_write_transaction_timeout.

-- Draws the next number, greater than every earlier one. Anything that sets the counter back (a
-- restored dump, a replica that lagged) takes longer than 10 ms, and numbers are drawn less often
-- than one per microsecond. So a counter less than 10 ms behind the microseconds since 1970 was not
-- set back, and any other is lifted to them. The row is deleted again; the counter remains.
DROP PROCEDURE IF EXISTS rowlock_draw//
CREATE PROCEDURE rowlock_draw(OUT p_number BIGINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_clock BIGINT;

    INSERT INTO rowlock_token (number) VALUES (NULL);
    SET p_number = LAST_INSERT_ID();
    DELETE FROM rowlock_token WHERE number = p_number;
    SET v_clock = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', utc_timestamp(6));
    IF p_number < v_clock - 10000 THEN
        INSERT IGNORE INTO rowlock_token (number) VALUES (v_clock);
        DELETE FROM rowlock_token WHERE number = v_clock;
        INSERT INTO rowlock_token (number) VALUES (NULL);
        SET p_number = LAST_INSERT_ID();
        DELETE FROM rowlock_token WHERE number = p_number;
    END IF;
    SET @rowlock_drawn = p_number;              -- see rowlock_session_unlock_lost
END//

-- Without a timeout for an idle transaction, a client that freezes before the COMMIT of a grant
-- that waited keeps the name lock until its session ends.
DROP PROCEDURE IF EXISTS rowlock_set_idle_limit//

DROP PROCEDURE IF EXISTS rowlock_restore_idle_limit//

-- The fence: a session that ends the lease must DELETE this row, and waits. It runs in the caller's
-- transaction. p_seconds as in rowlock_name_lock. p_status: 0, 2, 7, 8 lost, 10 a read-only
-- transaction.
DROP PROCEDURE IF EXISTS rowlock_lock_fence//
CREATE PROCEDURE rowlock_lock_fence(
    IN p_name VARBINARY(255), IN p_token BIGINT, IN p_seconds INT,
    OUT p_status TINYINT, OUT p_detail VARCHAR(400) CHARACTER SET utf8mb4)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_row INT DEFAULT 0;
    DECLARE v_limit INT DEFAULT @@innodb_lock_wait_timeout;
    DECLARE EXIT HANDLER FOR 1205
    BEGIN
        SET SESSION innodb_lock_wait_timeout = v_limit;
        SET p_status = 2;
    END;
    DECLARE EXIT HANDLER FOR 1317
    BEGIN
        SET SESSION innodb_lock_wait_timeout = v_limit;
        SET p_status = 7;
    END;
    DECLARE EXIT HANDLER FOR 1792
        SET p_status = 10,
            p_detail = '25006 rowlock: a fence in a read-only transaction would guard nothing';
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        SET SESSION innodb_lock_wait_timeout = v_limit;
        RESIGNAL;
    END;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;

    CALL rowlock_in_transaction();
    IF NOT @rowlock_open AND @@autocommit THEN
        SIGNAL SQLSTATE 'RL006' SET MESSAGE_TEXT =
            'rowlock: no transaction is open: the fence holds until yours ends';
    END IF;
    IF @@read_only THEN
        CALL rowlock_check_server();
    END IF;
    UPDATE rowlock_heartbeat SET stop = stop WHERE FALSE;     -- 1792 in a read-only transaction
    SET SESSION innodb_lock_wait_timeout = IF(p_seconds < 0, v_limit, p_seconds);
    SELECT 1 INTO v_row FROM rowlock_lease
     WHERE token = p_token AND name = p_name LIMIT 1 FOR SHARE;
    SET SESSION innodb_lock_wait_timeout = v_limit;
    SET p_status = IF(v_row, 0, 8);
END//
