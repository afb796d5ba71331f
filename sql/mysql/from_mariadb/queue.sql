-- MySQL's versions of procedures in sql/mariadb/schema/queue.sql: without SET STATEMENT ... FOR,
-- information_schema.innodb_locks; GET_LOCK waits whole seconds.

-- Deletes one ticket if its owner is dead: alive_until has passed, or it is NULL and the session
-- lock is free.
DROP PROCEDURE IF EXISTS rowlock_remove_dead_ticket//
CREATE PROCEDURE rowlock_remove_dead_ticket(IN p_ticket BIGINT, OUT p_gone TINYINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_rows, v_stamped, v_over INT DEFAULT 0;
    DECLARE v_dead TINYINT;

    -- read the row first, then its lock: in reverse order a live ticket would look dead
    SELECT count(*), COALESCE(SUM(alive_until IS NOT NULL), 0),
           COALESCE(SUM(alive_until <= utc_timestamp(6)), 0)
      INTO v_rows, v_stamped, v_over FROM rowlock_waiter WHERE ticket = p_ticket;
    COMMIT AND NO CHAIN NO RELEASE;
    SET p_gone = v_rows = 0;
    SET v_dead = v_rows > 0 AND (v_over > 0 OR v_stamped = 0
        AND IS_FREE_LOCK(CONCAT('rowlock:', MD5(DATABASE()), ':', p_ticket)));
    IF v_dead THEN
        BEGIN
            DECLARE v_limit INT DEFAULT @@innodb_lock_wait_timeout;
            DECLARE EXIT HANDLER FOR 1205, 1213
            BEGIN
                SET SESSION innodb_lock_wait_timeout = v_limit;
                ROLLBACK AND NO CHAIN NO RELEASE;
            END;

            START TRANSACTION READ WRITE;
            SET SESSION innodb_lock_wait_timeout = 1;
            DELETE FROM rowlock_waiter
             WHERE ticket = p_ticket AND (alive_until IS NULL OR alive_until <= utc_timestamp(6));
            SET p_gone = ROW_COUNT() > 0;
            SET SESSION innodb_lock_wait_timeout = v_limit;
            COMMIT AND NO CHAIN NO RELEASE;
        END;
    END IF;
END//

-- Blocks until the session lock of that ticket or token is free, and releases it at once. The
-- session that holds it gets it immediately: its own rows are never dead. A long wait ends early
-- when a roll call waits for an answer of the caller's own ticket: it checks every 3 s.
DROP PROCEDURE IF EXISTS rowlock_await//
CREATE PROCEDURE rowlock_await(
    IN p_kind TINYINT, IN p_number BIGINT, IN p_limit_ms BIGINT, IN p_ticket BIGINT,
    IN p_session BIGINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_lock VARCHAR(64) CHARACTER SET utf8mb4
        DEFAULT CONCAT('rowlock:', MD5(DATABASE()), ':', p_number);
    DECLARE v_came, v_gone, v_mine TINYINT DEFAULT 0;
    DECLARE v_roll_call INT DEFAULT 0;
    DECLARE v_seconds INT DEFAULT IF(p_limit_ms < 0, 30, CEILING(p_limit_ms / 1000));

    CALL rowlock_require_no_transaction();
    SET v_mine = COALESCE(IS_USED_LOCK(v_lock) = CONNECTION_ID(), 0);
    BEGIN
        DECLARE EXIT HANDLER FOR 1213, 3058     -- a cycle of sessions: the rows will resolve it
        BEGIN
            SET v_came = 0;
            DO SLEEP(LEAST(v_seconds, 0.25));
        END;

        slices: LOOP
            -- one expression: a KILL QUERY between two statements would leave the lock to this
            -- session. NULL: it was killed
            SET v_came = CASE GET_LOCK(v_lock, LEAST(v_seconds, 3)) WHEN 1 THEN RELEASE_LOCK(v_lock)
                                                                    WHEN 0 THEN 0 END;
            SET v_seconds = v_seconds - 3;
            IF v_came IS NULL OR v_came OR v_seconds <= 0 THEN
                LEAVE slices;
            END IF;
            SELECT count(roll_call) INTO v_roll_call FROM rowlock_waiter WHERE ticket = p_ticket;
            COMMIT AND NO CHAIN NO RELEASE;
            IF v_roll_call > 0 THEN
                LEAVE slices;
            END IF;
        END LOOP;
    END;
    IF v_came AND p_kind = 0 AND NOT v_mine THEN
        CALL rowlock_remove_dead_ticket(p_number, v_gone);
    END IF;
    SELECT COALESCE(v_came, 0) AS number;
END//

-- (Only performance_schema shows which transaction holds a row.)
DROP PROCEDURE IF EXISTS rowlock_list//
CREATE PROCEDURE rowlock_list(IN p_name VARBINARY(255))
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    SELECT * FROM rowlock_listed WHERE p_name IS NULL OR name = p_name
     ORDER BY state, name, ticket, token;
END//
