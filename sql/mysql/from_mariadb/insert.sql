-- MySQL's versions of procedures in sql/mariadb/schema/insert.sql: without SET STATEMENT ... FOR;
-- the shortest timeout is 1 s.

-- p_status: 0 locked, 1 busy, 6 a committed row holds the name: a program has inserted it outside a
-- transaction, or has committed without deleting it.
DROP PROCEDURE IF EXISTS rowlock_name_lock//
CREATE PROCEDURE rowlock_name_lock(
    IN p_name VARBINARY(255), IN p_shared TINYINT, IN p_seconds INT,
    OUT p_status TINYINT, OUT p_detail VARCHAR(400) CHARACTER SET utf8mb4)
    SQL SECURITY INVOKER MODIFIES SQL DATA
whole: BEGIN
    DECLARE v_uuid VARCHAR(32) DEFAULT REPLACE(UUID(), '-', '');
    DECLARE v_width INT;
    DECLARE v_tries INT DEFAULT 0;
    DECLARE v_limit INT DEFAULT @@innodb_lock_wait_timeout;
    DECLARE EXIT HANDLER FOR 1062
    BEGIN
        DECLARE CONTINUE HANDLER FOR NOT FOUND SET p_detail = 'a row that is gone by now';
        SET SESSION innodb_lock_wait_timeout = v_limit;
        SET p_status = 6;
        SELECT CONCAT('uuid ', uuid, ', locked_ts ', locked_ts) INTO p_detail
          FROM rowlock_object WHERE id = CONVERT(p_name USING utf8mb4);
    END;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        SET SESSION innodb_lock_wait_timeout = v_limit;
        RESIGNAL;
    END;
    DECLARE EXIT HANDLER FOR 1205
    BEGIN
        SET SESSION innodb_lock_wait_timeout = v_limit;
        IF p_seconds <> 0 THEN
            RESIGNAL;
        END IF;
        SET p_status = 1;
    END;

    IF p_shared THEN
        SIGNAL SQLSTATE 'RL004'
            SET MESSAGE_TEXT = 'rowlock: technique insert has exclusive locks only';
    END IF;
    SELECT id_width INTO v_width FROM rowlock_meta;
    IF LENGTH(p_name) > v_width THEN
        SIGNAL SQLSTATE 'RL003' SET MESSAGE_TEXT =
            'rowlock: the name is longer than the column id of the table in use';
    END IF;
    SET p_seconds = IF(p_seconds < 0, @@innodb_lock_wait_timeout, p_seconds);
    SET SESSION innodb_lock_wait_timeout = GREATEST(p_seconds, 1);
    INSERT INTO rowlock_object (uuid, id, locked_ts)
        VALUES (v_uuid, CONVERT(p_name USING utf8mb4), CURRENT_TIMESTAMP(6));
    SET SESSION innodb_lock_wait_timeout = v_limit;
    -- A KILL QUERY (an interrupt, a timeout) that arrives while a DELETE is being planned ends it
    -- without an error and without deleting; a row left behind would hold the name forever. This
    -- check raises the error.
    REPEAT
        SET v_tries = v_tries + 1;
        DELETE FROM rowlock_object WHERE id = CONVERT(p_name USING utf8mb4) AND uuid = v_uuid;
    UNTIL ROW_COUNT() > 0 END REPEAT;
    IF v_tries > 1 THEN
        SIGNAL SQLSTATE '70100'
            SET MYSQL_ERRNO = 1317, MESSAGE_TEXT = 'rowlock: the statement was interrupted';
    END IF;
    SET p_status = 0;
END//
