-- MySQL's versions of procedures in sql/mariadb/schema/install.sql: without SET STATEMENT ... FOR,
-- Galera, information_schema.innodb_locks. rowlock_in_transaction, which MariaDB does not need,
-- belongs to the block of rowlock_check_server: no empty line may separate them.

-- Only a writable server keeps locks: a lock on a replica excludes no other session.
DROP PROCEDURE IF EXISTS rowlock_check_server//
CREATE PROCEDURE rowlock_check_server()
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    IF @@read_only THEN
        SIGNAL SQLSTATE 'RL002' SET MESSAGE_TEXT =
            'rowlock: this server is read-only, perhaps a replica: locks here would not exclude '
            'other sessions';
    END IF;
END//
-- Sets @rowlock_open: outside a transaction a savepoint does not outlive its own statement.
DROP PROCEDURE IF EXISTS rowlock_in_transaction//
CREATE PROCEDURE rowlock_in_transaction()
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE CONTINUE HANDLER FOR 1305 SET @rowlock_open = 0;

    SET @rowlock_open = 1;
    SAVEPOINT rowlock_open_point;
    RELEASE SAVEPOINT rowlock_open_point;
END//

-- Ends one expired lease: first the heartbeat, which the clock decides, then the identity. It is a
-- transaction of its own and gives up after a second (a fenced transaction holds the identity).
DROP PROCEDURE IF EXISTS rowlock_sweep//
CREATE PROCEDURE rowlock_sweep(IN p_token BIGINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    CALL rowlock_in_transaction();
    IF @rowlock_open THEN
        SIGNAL SQLSTATE 'RL007' SET MESSAGE_TEXT =
            'rowlock: a sweep needs a transaction of its own, but one is open';
    END IF;
    SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
    BEGIN
        DECLARE v_left INT DEFAULT 0;
        DECLARE v_limit INT DEFAULT @@innodb_lock_wait_timeout;
        DECLARE EXIT HANDLER FOR 1205, 1213
        BEGIN
            SET SESSION innodb_lock_wait_timeout = v_limit;
            ROLLBACK AND NO CHAIN NO RELEASE;
        END;
        DECLARE EXIT HANDLER FOR SQLEXCEPTION
        BEGIN
            SET SESSION innodb_lock_wait_timeout = v_limit;
            ROLLBACK AND NO CHAIN NO RELEASE;
            RESIGNAL;
        END;

        START TRANSACTION READ WRITE;
        SET SESSION innodb_lock_wait_timeout = 1;
        SELECT count(*) INTO v_left FROM rowlock_heartbeat
         WHERE token = p_token AND expires <= utc_timestamp(6) FOR UPDATE;
        IF v_left > 0 THEN
            BEGIN                                   -- see rowlock_log_end
                DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END;
                DECLARE EXIT HANDLER FOR 1213 RESIGNAL;

                CALL rowlock_log_end(p_token, 1);
            END;
        END IF;
        DELETE FROM rowlock_heartbeat WHERE token = p_token AND expires <= utc_timestamp(6);
        SET SESSION innodb_lock_wait_timeout = v_limit;
        SELECT count(*) INTO v_left FROM rowlock_heartbeat WHERE token = p_token;
        IF v_left = 0 THEN
            SET SESSION innodb_lock_wait_timeout = 1;
            DELETE FROM rowlock_lease WHERE token = p_token;
            SET SESSION innodb_lock_wait_timeout = v_limit;
        END IF;
        COMMIT AND NO CHAIN NO RELEASE;
    END;
END//

-- p_seconds here and in rowlock_name_lock: 0 does not wait, < 0 waits up to the session's
-- innodb_lock_wait_timeout, otherwise that many seconds. A try skips locked rows, because NOWAIT is
-- a timeout.
--
-- Locks the row of the caller's own lease in place of the name, so that transactions with the same
-- token exclude each other.
DROP PROCEDURE IF EXISTS rowlock_lock_own_lease//
CREATE PROCEDURE rowlock_lock_own_lease(
    IN p_name VARBINARY(255), IN p_shared TINYINT, IN p_token BIGINT, IN p_seconds INT,
    OUT p_status TINYINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_row, v_there INT DEFAULT 0;
    DECLARE v_limit INT DEFAULT @@innodb_lock_wait_timeout;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        SET SESSION innodb_lock_wait_timeout = v_limit;
        RESIGNAL;
    END;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;

    IF p_seconds = 0 THEN
        IF p_shared THEN
            SELECT 1 INTO v_row FROM rowlock_lease
             WHERE token = p_token AND name = p_name AND mode <> 'permit'
             FOR SHARE SKIP LOCKED;
        ELSE
            SELECT 1 INTO v_row FROM rowlock_lease
             WHERE token = p_token AND name = p_name AND mode = 'exclusive'
             FOR UPDATE SKIP LOCKED;
        END IF;
        SELECT count(*) INTO v_there FROM rowlock_lease
         WHERE token = p_token AND name = p_name
           AND (mode = 'exclusive' OR (p_shared AND mode = 'shared'));
    ELSE
        SET p_seconds = IF(p_seconds < 0, @@innodb_lock_wait_timeout, p_seconds);
        IF p_shared THEN
            SET SESSION innodb_lock_wait_timeout = p_seconds;
            SELECT 1 INTO v_row FROM rowlock_lease
             WHERE token = p_token AND name = p_name AND mode <> 'permit'
             FOR SHARE;
            SET SESSION innodb_lock_wait_timeout = v_limit;
        ELSE
            SET SESSION innodb_lock_wait_timeout = p_seconds;
            SELECT 1 INTO v_row FROM rowlock_lease
             WHERE token = p_token AND name = p_name AND mode = 'exclusive'
             FOR UPDATE;
            SET SESSION innodb_lock_wait_timeout = v_limit;
        END IF;
    END IF;
    SET p_status = CASE WHEN v_row THEN 0 WHEN v_there THEN 1 ELSE 8 END;
END//

-- Lists the leases of a name. (Only performance_schema shows which transaction holds a row.)
DROP PROCEDURE IF EXISTS rowlock_holder//
CREATE PROCEDURE rowlock_holder(IN p_name VARBINARY(255))
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    SELECT 'lease' AS kind, l.pid, l.host, l.command AS program,
           DATE_FORMAT(l.acquired, '%Y-%m-%dT%H:%i:%s.%fZ') AS since,
           DATE_FORMAT(b.expires, '%Y-%m-%dT%H:%i:%s.%fZ') AS expires, l.note, NULL AS waiting
      FROM rowlock_lease l LEFT JOIN rowlock_heartbeat b ON b.token = l.token
     WHERE l.name = p_name
     ORDER BY b.expires DESC, l.token;
END//
