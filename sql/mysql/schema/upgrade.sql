-- Changes the tables of older versions, as sql/mariadb/schema/upgrade.sql.

-- From version 1. The kept runs give the first counts. MySQL has no ADD COLUMN IF NOT EXISTS; and
-- an account needs no ALTER if no column is missing.
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
CALL rowlock_once('rowlock_job', '{added rowlock_job runs_done}')//
CALL rowlock_once('rowlock_meta', '{added rowlock_meta history}')//
CALL rowlock_once('rowlock_lease', '{added rowlock_lease waited}')//
CALL rowlock_once('rowlock_heartbeat', '{added rowlock_heartbeat quiet_until}')//
DROP PROCEDURE rowlock_once//
CREATE PROCEDURE rowlock_once()
BEGIN
    DECLARE v_wait BIGINT DEFAULT @@SESSION.lock_wait_timeout;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        SET SESSION lock_wait_timeout = v_wait;
        RESIGNAL;
    END;

    SET SESSION lock_wait_timeout = 1;
    IF EXISTS (SELECT 1 FROM information_schema.statistics
                WHERE table_schema = DATABASE() AND index_name = 'rowlock_lease_name') THEN
        ALTER TABLE rowlock_lease
            DROP PRIMARY KEY, ADD PRIMARY KEY (name, slot, n), DROP KEY rowlock_lease_name,
            ADD KEY rowlock_lease_token (token);
    END IF;
    SET SESSION lock_wait_timeout = v_wait;
END//
CALL rowlock_once()//
DROP PROCEDURE rowlock_once//
DELIMITER ;
{first_counts};
