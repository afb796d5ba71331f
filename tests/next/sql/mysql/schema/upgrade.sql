-- As MariaDB's. MySQL has no ADD COLUMN IF NOT EXISTS and no WAIT; and an account needs no ALTER if
-- no column is missing.
DELIMITER //
DROP PROCEDURE IF EXISTS rowlock_once//
CREATE PROCEDURE rowlock_once(IN p_table VARCHAR(64), IN p_column VARCHAR(200))
BEGIN
    DECLARE v_wait BIGINT DEFAULT @@SESSION.lock_wait_timeout;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        SET SESSION lock_wait_timeout = v_wait;
        RESIGNAL;
    END;

    SET SESSION lock_wait_timeout = 1;
    IF NOT EXISTS (SELECT 1 FROM information_schema.columns
                    WHERE table_schema = DATABASE() AND table_name = p_table
                      AND column_name = SUBSTRING_INDEX(p_column, ' ', 1)) THEN
        SET @rowlock_text = CONCAT('ALTER TABLE ', p_table, ' ADD COLUMN ', p_column);
        PREPARE addition FROM @rowlock_text;
        EXECUTE addition;
        DEALLOCATE PREPARE addition;
    END IF;
    SET SESSION lock_wait_timeout = v_wait;
END//
CALL rowlock_once('rowlock_lease', '{added rowlock_lease grade}')//
CALL rowlock_once('rowlock_counter', '{added rowlock_counter began}')//
DROP PROCEDURE rowlock_once//
DELIMITER ;
UPDATE rowlock_counter SET began = last WHERE (SELECT version FROM rowlock_meta) < {schema_version};
