-- Changes the tables of older versions, as sql/mariadb/schema/upgrade.sql.

-- From version 1. The kept runs give the first counts. MySQL has no ADD COLUMN IF NOT EXISTS.
DELIMITER //
DROP PROCEDURE IF EXISTS rowlock_once//
CREATE PROCEDURE rowlock_once()
BEGIN
    DECLARE v_wait BIGINT DEFAULT @@SESSION.lock_wait_timeout;
    DECLARE CONTINUE HANDLER FOR 1060 BEGIN END; -- the column exists
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        SET SESSION lock_wait_timeout = v_wait;
        RESIGNAL;
    END;

    SET SESSION lock_wait_timeout = 1;
    ALTER TABLE rowlock_job ADD COLUMN {added rowlock_job runs_done};
    ALTER TABLE rowlock_meta ADD COLUMN {added rowlock_meta history};
    ALTER TABLE rowlock_lease ADD COLUMN {added rowlock_lease waited};
    ALTER TABLE rowlock_heartbeat ADD COLUMN {added rowlock_heartbeat quiet_until};
    ALTER TABLE rowlock_name ADD COLUMN {added rowlock_name least_token};
    SET SESSION lock_wait_timeout = v_wait;
END//
CALL rowlock_once()//
DROP PROCEDURE rowlock_once//
DELIMITER ;
{first_counts};
