-- MySQL's versions of procedures in sql/mariadb/schema/lease.sql: without SEQUENCE, and with the
-- lock timeout that a KILL QUERY may have left. The block of rowlock_draw also has
-- rowlock_in_transaction, which MariaDB does not need: no empty line may separate them.

-- Draws the next number, greater than p_least and every earlier one, from an AUTO_INCREMENT
-- counter. It is odd: twice the counter, and 1. A counter that is 10 ms or more behind the
-- microseconds since 1970 was set back, such as by a restored dump, and is lifted to them: see
-- sql/mariadb/schema/lease.sql. The row is deleted again; the counter remains.
DROP PROCEDURE IF EXISTS rowlock_draw//
CREATE PROCEDURE rowlock_draw(IN p_least BIGINT, OUT p_number BIGINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_lift BIGINT;

    INSERT INTO rowlock_token (number) VALUES (NULL);
    SET p_number = LAST_INSERT_ID();
    DELETE FROM rowlock_token WHERE number = p_number;
    SET v_lift = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', utc_timestamp(6));
    IF p_number * 2 + 1 < v_lift - 10000 OR p_number * 2 + 1 <= p_least THEN
        SET v_lift = GREATEST(v_lift, p_least) DIV 2;
        INSERT IGNORE INTO rowlock_token (number) VALUES (v_lift);
        DELETE FROM rowlock_token WHERE number = v_lift;
        INSERT INTO rowlock_token (number) VALUES (NULL);
        SET p_number = LAST_INSERT_ID();
        DELETE FROM rowlock_token WHERE number = p_number;
    END IF;
    SET p_number = p_number * 2 + 1;
    SET @rowlock_drawn = p_number;              -- see rowlock_session_unlock_lost
END//
-- Sets @rowlock_open. MySQL refuses to set the mode of the next transaction while one is open;
-- otherwise this sets the session's mode, which the next one has anyway.
DROP PROCEDURE IF EXISTS rowlock_in_transaction//
CREATE PROCEDURE rowlock_in_transaction()
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE EXIT HANDLER FOR 1568 SET @rowlock_open = 1;

    SET @@transaction_read_only = @@SESSION.transaction_read_only;
    SET @rowlock_open = 0;
END//

-- Restores what an earlier call has left: the limit of a grant that waited, and the lock timeout of
-- a call that a KILL QUERY ended.
DROP PROCEDURE IF EXISTS rowlock_restore_idle_limit//
CREATE PROCEDURE rowlock_restore_idle_limit()
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    SET SESSION wait_timeout = CAST(COALESCE(@rowlock_idle, @@wait_timeout) AS UNSIGNED),
        SESSION innodb_lock_wait_timeout =
            CAST(COALESCE(@rowlock_row_wait, @@innodb_lock_wait_timeout) AS UNSIGNED);
    SET @rowlock_idle = NULL, @rowlock_row_wait = NULL;
END//
