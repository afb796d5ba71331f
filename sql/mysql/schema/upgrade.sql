-- Changes the tables of older versions, as sql/mariadb/schema/upgrade.sql.

-- From version 1. The kept runs give the first counts. MySQL has no ADD COLUMN IF NOT EXISTS.
DELIMITER //
DROP PROCEDURE IF EXISTS rowlock_once//
CREATE PROCEDURE rowlock_once()
BEGIN
    DECLARE v_wait BIGINT DEFAULT @@SESSION.lock_wait_timeout;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        SET SESSION lock_wait_timeout = v_wait;
        RESIGNAL;
    END;

    SET SESSION lock_wait_timeout = 1;
    IF NOT EXISTS (SELECT 1 FROM information_schema.columns
                    WHERE table_schema = DATABASE() AND table_name = 'rowlock_job'
                      AND column_name = 'last_success') THEN
        ALTER TABLE rowlock_job
            ADD COLUMN runs_done BIGINT NOT NULL DEFAULT 0,
            ADD COLUMN runs_failed BIGINT NOT NULL DEFAULT 0,
            ADD COLUMN runs_timed_out BIGINT NOT NULL DEFAULT 0,
            ADD COLUMN runs_broken BIGINT NOT NULL DEFAULT 0,
            ADD COLUMN runs_lost BIGINT NOT NULL DEFAULT 0,
            ADD COLUMN runs_late BIGINT NOT NULL DEFAULT 0,
            ADD COLUMN runs_not_started BIGINT NOT NULL DEFAULT 0,
            ADD COLUMN last_success BIGINT NOT NULL DEFAULT 0;
    END IF;
    IF NOT EXISTS (SELECT 1 FROM information_schema.columns
                    WHERE table_schema = DATABASE() AND table_name = 'rowlock_meta'
                      AND column_name = 'keep_bad') THEN
        ALTER TABLE rowlock_meta
            ADD COLUMN history VARCHAR(16) NOT NULL DEFAULT 'slow',
            ADD COLUMN keep_good BIGINT NOT NULL DEFAULT 86400000,
            ADD COLUMN keep_bad BIGINT NOT NULL DEFAULT 604800000;
    END IF;
    IF NOT EXISTS (SELECT 1 FROM information_schema.columns
                    WHERE table_schema = DATABASE() AND table_name = 'rowlock_lease'
                      AND column_name = 'waited') THEN
        ALTER TABLE rowlock_lease ADD COLUMN waited BIGINT NOT NULL DEFAULT 0;
    END IF;
    IF NOT EXISTS (SELECT 1 FROM information_schema.columns
                    WHERE table_schema = DATABASE() AND table_name = 'rowlock_heartbeat'
                      AND column_name = 'quiet_until') THEN
        ALTER TABLE rowlock_heartbeat
            ADD COLUMN quiet_until DATETIME(6) NOT NULL DEFAULT '9999-12-31';
    END IF;
    IF NOT EXISTS (SELECT 1 FROM information_schema.columns
                    WHERE table_schema = DATABASE() AND table_name = 'rowlock_name'
                      AND column_name = 'least_token') THEN
        ALTER TABLE rowlock_name ADD COLUMN least_token BIGINT NOT NULL DEFAULT 0;
    END IF;
    SET SESSION lock_wait_timeout = v_wait;
END//
CALL rowlock_once()//
DROP PROCEDURE rowlock_once//
DELIMITER ;
UPDATE rowlock_job j
  JOIN (SELECT job, SUM(outcome = 'done') AS done, SUM(outcome = 'failed') AS failed,
               SUM(outcome = 'timed out') AS timed_out, SUM(outcome = 'broken') AS broken,
               SUM(outcome = 'lost') AS lost, SUM(outcome = 'late') AS late,
               SUM(outcome = 'not started') AS not_started,
               MAX(IF(outcome = 'done', finished, 0)) AS success
          FROM rowlock_run WHERE finished > 0 GROUP BY job) k ON k.job = j.name
   SET j.runs_done = k.done, j.runs_failed = k.failed, j.runs_timed_out = k.timed_out,
       j.runs_broken = k.broken, j.runs_lost = k.lost, j.runs_late = k.late,
       j.runs_not_started = k.not_started, j.last_success = k.success
 WHERE (SELECT version FROM rowlock_meta) < 2;
