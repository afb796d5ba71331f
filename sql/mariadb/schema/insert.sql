-- rowlock on MariaDB, technique insert: the caller's transaction inserts the name as a unique key
-- and deletes it again. Any program that runs these two statements takes part. Exclusive locks
-- only. Warning: on InnoDB, waiters for one key deadlock with each other (1213). Begin-and-lock
-- retries; a deadlock of a lock later in a transaction rolls back the whole transaction. Technique
-- row does not have this problem. An existing table is used as it is. Run install.sql first.

{own_mode};

DELIMITER //

-- Checks an existing table: a plain InnoDB table without triggers and foreign keys, whose id is
-- text and unique. Sets whether rowlock creates or has created it, and the width of its id.
CREATE OR REPLACE PROCEDURE rowlock_adopt(
    IN p_object VARCHAR(200) CHARACTER SET utf8mb4, OUT p_owned TINYINT, OUT p_width INT)
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE v_bare VARCHAR(200) CHARACTER SET utf8mb4 DEFAULT REPLACE(p_object, '`', '');
    DECLARE v_schema VARCHAR(64) CHARACTER SET utf8mb4;
    DECLARE v_table VARCHAR(64) CHARACTER SET utf8mb4;
    DECLARE v_engine VARCHAR(64) CHARACTER SET utf8mb4;
    DECLARE v_type VARCHAR(64) CHARACTER SET utf8mb4;
    DECLARE v_reason VARCHAR(500) CHARACTER SET utf8mb4;
    DECLARE v_unique INT;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;

    SET v_schema = IF(LOCATE('.', v_bare) > 0, SUBSTRING_INDEX(v_bare, '.', 1), DATABASE());
    SET v_table = SUBSTRING_INDEX(v_bare, '.', -1);
    SELECT engine, table_type INTO v_engine, v_type FROM information_schema.tables
     WHERE table_schema = v_schema AND table_name = v_table;
    IF v_type <> 'BASE TABLE' THEN
        SET v_reason = CONCAT('it is a ', v_type);
    END IF;
    SELECT CONCAT('it has the trigger ', trigger_name, ' of ', definer) INTO v_reason
      FROM information_schema.triggers
     WHERE event_object_schema = v_schema AND event_object_table = v_table LIMIT 1;
    SELECT CONCAT('it is linked to other tables by the foreign key ', constraint_name,
                  ' of the table ', table_name)
      INTO v_reason FROM information_schema.referential_constraints
     WHERE (unique_constraint_schema = v_schema AND referenced_table_name = v_table)
        OR (constraint_schema = v_schema AND table_name = v_table) LIMIT 1;
    IF v_reason IS NOT NULL THEN
        SET v_reason = CONCAT('rowlock: ', p_object, ' cannot be used: ', v_reason,
                              '; drop that, or choose another with --table');
        SIGNAL SQLSTATE 'RL003' SET MYSQL_ERRNO = 30003, MESSAGE_TEXT = v_reason;
    END IF;
    SET p_owned = v_engine IS NULL;
    IF v_engine IS NOT NULL THEN
        SELECT owned INTO p_owned FROM rowlock_meta WHERE object = p_object;
        SELECT character_maximum_length INTO p_width FROM information_schema.columns
         WHERE table_schema = v_schema AND table_name = v_table AND column_name = 'id';
        SELECT count(*) INTO v_unique FROM information_schema.statistics s
         WHERE s.table_schema = v_schema AND s.table_name = v_table AND s.column_name = 'id'
           AND s.non_unique = 0 AND s.sub_part IS NULL
           AND NOT EXISTS (SELECT 1 FROM information_schema.statistics o
                            WHERE o.table_schema = v_schema AND o.table_name = v_table
                              AND o.index_name = s.index_name AND o.seq_in_index > 1);
        IF v_engine <> 'InnoDB' OR p_width IS NULL OR v_unique = 0 THEN
            SIGNAL SQLSTATE 'RL003' SET MYSQL_ERRNO = 30003, MESSAGE_TEXT =
                'rowlock: technique insert needs an InnoDB table (uuid, id, locked_ts) whose id '
                'is text and unique by itself';
        END IF;
    END IF;
END//

DELIMITER ;

CALL rowlock_adopt('rowlock_object', @rowlock_owned, @rowlock_width);

-- If the install is interrupted after this, the next one knows whether the table is rowlock's.
INSERT INTO rowlock_meta (version, technique, object, id_width, owned)
    VALUES (0, 'insert', 'rowlock_object', @rowlock_width, @rowlock_owned)
    ON DUPLICATE KEY UPDATE technique = VALUES(technique), object = VALUES(object), owned =
        VALUES(owned);

CREATE TABLE IF NOT EXISTS rowlock_object (
    uuid      VARCHAR(32) NOT NULL PRIMARY KEY,
    id        VARBINARY(255) NOT NULL,
    locked_ts TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
    UNIQUE KEY (id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

DELIMITER //

CREATE OR REPLACE PROCEDURE rowlock_ensure(IN p_name VARBINARY(255))
    SQL SECURITY INVOKER NO SQL
BEGIN
END//

-- p_status: 0 locked, 1 busy, 6 a committed row holds the name: a program has inserted it outside a
-- transaction, or has committed without deleting it.
CREATE OR REPLACE PROCEDURE rowlock_name_lock(
    IN p_name VARBINARY(255), IN p_shared TINYINT, IN p_seconds INT,
    OUT p_status TINYINT, OUT p_detail VARCHAR(400) CHARACTER SET utf8mb4)
    SQL SECURITY INVOKER MODIFIES SQL DATA
whole: BEGIN
    DECLARE v_uuid VARCHAR(32) CHARACTER SET utf8mb4 DEFAULT REPLACE(UUID(), '-', '');
    DECLARE v_width INT;
    DECLARE v_tries INT DEFAULT 0;
    DECLARE EXIT HANDLER FOR 1062
    BEGIN
        DECLARE CONTINUE HANDLER FOR NOT FOUND SET p_detail = 'a row that is gone by now';
        SET p_status = 6;
        SELECT CONCAT('uuid ', uuid, ', locked_ts ', locked_ts) INTO p_detail
          FROM rowlock_object WHERE id = CONVERT(p_name USING utf8mb4);
    END;
    DECLARE EXIT HANDLER FOR 1205
    BEGIN
        IF p_seconds <> 0 THEN
            RESIGNAL;
        END IF;
        SET p_status = 1;
    END;

    IF p_shared THEN
        SIGNAL SQLSTATE 'RL004' SET MYSQL_ERRNO = 30004, MESSAGE_TEXT =
            'rowlock: technique insert has exclusive locks only';
    END IF;
    SELECT id_width INTO v_width FROM rowlock_meta;
    IF LENGTH(p_name) > v_width THEN
        SIGNAL SQLSTATE 'RL003' SET MYSQL_ERRNO = 30003, MESSAGE_TEXT =
            'rowlock: the name is longer than the column id of the table in use';
    END IF;
    SET p_seconds = IF(p_seconds < 0, @@innodb_lock_wait_timeout, p_seconds);
    SET STATEMENT innodb_lock_wait_timeout = p_seconds FOR
        INSERT INTO rowlock_object (uuid, id, locked_ts)
            VALUES (v_uuid, CONVERT(p_name USING utf8mb4), CURRENT_TIMESTAMP(6));
    -- A KILL QUERY (an interrupt, a timeout) that arrives while a DELETE is being planned ends it
    -- without an error and without deleting, and the row would hold the name forever. So this
    -- repeats it, and then raises the error.
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

-- INSERT cannot skip a locked key: a try uses the shortest timeout.
CREATE OR REPLACE PROCEDURE rowlock_may_try(IN p_wait_ms BIGINT)
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    IF p_wait_ms = 0 AND @@innodb_rollback_on_timeout THEN
        SIGNAL SQLSTATE 'RL004' SET MYSQL_ERRNO = 30004, MESSAGE_TEXT =
            'rowlock: innodb_rollback_on_timeout is set: under technique insert a try would roll '
            'back your transaction';
    END IF;
END//

-- For the C library: rowlock_begin_wants with the status row as a result set.
CREATE OR REPLACE PROCEDURE rowlock_begin_lock(
    IN p_wants LONGTEXT CHARACTER SET ascii, IN p_wait_ms BIGINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_status TINYINT;
    DECLARE v_name VARBINARY(255);
    DECLARE v_detail VARCHAR(400) CHARACTER SET utf8mb4;

    CALL rowlock_begin_wants(p_wants, p_wait_ms, v_status, v_name, v_detail);
    SELECT v_status AS status, v_name AS name, 0 AS stays, v_detail AS detail;
END//

-- It has no rows of names.
CREATE OR REPLACE PROCEDURE rowlock_insert_name(
    IN p_name VARBINARY(255), IN p_many TINYINT, OUT p_row INT)
    SQL SECURITY INVOKER NO SQL
    SET p_row = 0//

CREATE OR REPLACE PROCEDURE rowlock_remove_row(IN p_name VARBINARY(255), OUT p_removed TINYINT)
    SQL SECURITY INVOKER NO SQL
    SET p_removed = 0//

-- The lock has deleted its row already.
CREATE OR REPLACE PROCEDURE rowlock_remove(IN p_name VARBINARY(255))
    SQL SECURITY INVOKER NO SQL
BEGIN
END//

CREATE OR REPLACE PROCEDURE rowlock_vacuum_names(OUT p_removed BIGINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_end TINYINT DEFAULT 0;
    DECLARE v_row TINYINT;
    DECLARE v_uuid VARCHAR(255) CHARACTER SET utf8mb4;
    DECLARE c_rows CURSOR FOR SELECT uuid FROM rowlock_object;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_end = 1;

    SET p_removed = 0;
    OPEN c_rows;
    COMMIT AND NO CHAIN NO RELEASE;
    rows_: LOOP
        FETCH c_rows INTO v_uuid;
        IF v_end THEN
            LEAVE rows_;
        END IF;
        SET v_row = 0;
        START TRANSACTION READ WRITE;
        SELECT 1 INTO v_row FROM rowlock_object WHERE uuid = v_uuid FOR UPDATE SKIP LOCKED;
        SET v_end = 0;
        IF v_row THEN
            DELETE FROM rowlock_object WHERE uuid = v_uuid;
            SET p_removed = p_removed + 1;
        END IF;
        COMMIT AND NO CHAIN NO RELEASE;
    END LOOP;
    CLOSE c_rows;
END//

DROP PROCEDURE rowlock_adopt//

{end_of_piece};

SET @rowlock_technique = 'insert', @rowlock_table = 'rowlock_object',
    @rowlock_width = COALESCE(@rowlock_width, 255);
