-- rowlock on MariaDB, counters: numbers without gaps. A number is drawn under a lock that lasts
-- until COMMIT, and ROLLBACK returns it; AUTO_INCREMENT does neither. The lock is that of the name
-- counter:NAME. Run install.sql first.

{own_mode};

CREATE TABLE IF NOT EXISTS rowlock_counter (
    name VARBINARY(255) NOT NULL PRIMARY KEY,
    last BIGINT NOT NULL
) ENGINE = InnoDB;

DELIMITER //

-- Returns the first of p_count numbers. A new counter begins with p_start. The caller has the lock,
-- so no other session inserts that row. UPDATE comes first, because an INSERT that finds the row
-- would lock a gap.
CREATE OR REPLACE PROCEDURE rowlock_advance(
    IN p_name VARBINARY(255), IN p_start BIGINT, IN p_count BIGINT, OUT p_first BIGINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    UPDATE rowlock_counter SET last = last + p_count WHERE name = p_name;
    IF ROW_COUNT() = 0 THEN
        INSERT INTO rowlock_counter (name, last) VALUES (p_name, p_start + p_count - 1);
    END IF;
    SELECT last - p_count + 1 INTO p_first FROM rowlock_counter WHERE name = p_name;
END//

-- The same for the C library, with the number as a result set.
CREATE OR REPLACE PROCEDURE rowlock_advance_row(
    IN p_name VARBINARY(255), IN p_start BIGINT, IN p_count BIGINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_first BIGINT;

    CALL rowlock_advance(p_name, p_start, p_count, v_first);
    SELECT v_first AS first;
END//

-- For SQL clients: locks and draws one number, in an open transaction. A new counter begins with 1.
-- Waits as rowlock_exclusive does.
CREATE OR REPLACE PROCEDURE rowlock_next(IN name LONGTEXT CHARACTER SET utf8mb4, OUT number BIGINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
    COMMENT 'Draws the next number of a counter, without gaps: ROLLBACK returns the number, and the next caller waits until COMMIT.'
BEGIN
    DECLARE v_want LONGTEXT CHARACTER SET ascii;

    CALL rowlock_pack(name, 0, v_want);
    CALL rowlock_exclusive(CONCAT('counter:', name));
    CALL rowlock_advance(name, 1, 1, number);
END//

{end_of_piece};
