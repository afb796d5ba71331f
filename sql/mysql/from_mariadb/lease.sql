-- MySQL's versions of procedures in sql/mariadb/schema/lease.sql: without SEQUENCE; the limit of an
-- idle session, and the lock timeout that a KILL QUERY has left, are restored.

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
