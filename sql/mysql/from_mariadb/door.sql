-- MySQL's versions of procedures in sql/mariadb/schema/door.sql: without max_statement_time.

-- Sleeps, and doubles the next pause. p_cut: 0; 7 if a KILL QUERY ended the sleep.
DROP PROCEDURE IF EXISTS rowlock_pause//
CREATE PROCEDURE rowlock_pause(INOUT p_seconds DOUBLE, IN p_most DOUBLE, OUT p_cut TINYINT)
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE v_slept TINYINT;
    DECLARE EXIT HANDLER FOR 1317 SET p_cut = 7;

    SELECT SLEEP(p_seconds) INTO v_slept;
    SET p_cut = IF(v_slept, 7, 0);
    SET p_seconds = LEAST(p_seconds * 1.5, p_most);
END//
