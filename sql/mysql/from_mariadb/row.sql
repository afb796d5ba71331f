-- MySQL's versions of procedures in sql/mariadb/schema/row.sql: without SET STATEMENT ... FOR, and
-- without MariaDB's fast paths, which were never measured on MySQL.

-- Reads first, because an INSERT waits for the session that has the row locked. If another session
-- is inserting the row now (1205), it will exist soon, and the lock finds it or retries.
DROP PROCEDURE IF EXISTS rowlock_ensure//
CREATE PROCEDURE rowlock_ensure(IN p_name VARBINARY(255))
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_row INT DEFAULT 0;
    DECLARE v_limit INT DEFAULT @@innodb_lock_wait_timeout;
    DECLARE CONTINUE HANDLER FOR 1205, 1213 BEGIN END;

    SELECT count(*) INTO v_row FROM rowlock_name WHERE name = p_name;
    IF v_row = 0 THEN
        START TRANSACTION READ WRITE;       -- the session's default may be READ ONLY
        SET SESSION innodb_lock_wait_timeout = 1;
        INSERT IGNORE INTO rowlock_name (name) VALUES (p_name);
        SET SESSION innodb_lock_wait_timeout = v_limit;
    END IF;
    COMMIT AND NO CHAIN NO RELEASE;
END//

-- p_status: 0 locked, 1 busy, 5 the row does not exist (a locking read of zero rows locks nothing).
DROP PROCEDURE IF EXISTS rowlock_name_lock//
CREATE PROCEDURE rowlock_name_lock(
    IN p_name VARBINARY(255), IN p_shared TINYINT, IN p_seconds INT,
    OUT p_status TINYINT, OUT p_detail VARCHAR(400) CHARACTER SET utf8mb4)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_row INT DEFAULT 0;
    DECLARE v_limit INT DEFAULT @@innodb_lock_wait_timeout;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        SET SESSION innodb_lock_wait_timeout = v_limit;
        RESIGNAL;
    END;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;

    IF p_seconds = 0 THEN
        IF p_shared THEN
            SELECT 1 INTO v_row FROM rowlock_name WHERE name = p_name FOR SHARE SKIP LOCKED;
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
            SET SESSION innodb_lock_wait_timeout = p_seconds;
            SELECT 1 INTO v_row FROM rowlock_name WHERE name = p_name FOR SHARE;
            SET SESSION innodb_lock_wait_timeout = v_limit;
        ELSE
            SET SESSION innodb_lock_wait_timeout = p_seconds;
            SELECT 1 INTO v_row FROM rowlock_name WHERE name = p_name FOR UPDATE;
            SET SESSION innodb_lock_wait_timeout = v_limit;
        END IF;
        SET p_status = IF(v_row = 0, 5, 0);
    END IF;
END//

-- For the C library: rowlock_begin_wants with the status row as a result set.
DROP PROCEDURE IF EXISTS rowlock_begin_lock//
CREATE PROCEDURE rowlock_begin_lock(
    IN p_wants LONGTEXT CHARACTER SET ascii, IN p_wait_ms BIGINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_status TINYINT;
    DECLARE v_name VARBINARY(255);
    DECLARE v_detail VARCHAR(400) CHARACTER SET utf8mb4;

    CALL rowlock_begin_wants(p_wants, p_wait_ms, v_status, v_name, v_detail);
    SELECT v_status AS status, v_name AS name, 0 AS stays, v_detail AS detail;
END//

DROP PROCEDURE IF EXISTS rowlock_grant//
CREATE PROCEDURE rowlock_grant(
    IN p_wants LONGTEXT CHARACTER SET ascii, IN p_owner VARBINARY(255), IN p_ttl_ms BIGINT,
    IN p_wait_ms BIGINT, IN p_ticket BIGINT, IN p_session BIGINT,
    IN p_host VARCHAR(255) CHARACTER SET utf8mb4, IN p_pid BIGINT,
    IN p_command VARCHAR(255) CHARACTER SET utf8mb4, IN p_note VARCHAR(1024) CHARACTER SET utf8mb4)
    SQL SECURITY INVOKER MODIFIES SQL DATA
    CALL rowlock_grant_wants(p_wants, p_owner, p_ttl_ms, p_wait_ms, p_ticket, p_session,
                             p_host, p_pid, p_command, p_note)//
