-- rowlock on MariaDB, the queue for leases: positions, detection of dead and frozen waiters, and
-- the list of holders and waiters. Run install.sql and lease.sql first. Procedures without a
-- comment of their own are statements of dialect.h, which describes them.
--
-- The rows decide; a session lock (GET_LOCK) is a hint when to look again. Its name is
-- rowlock:MD5(database):number, where the number is a ticket or a token. A session takes the lock
-- of its ticket before the COMMIT that shows the row, and releases it after the COMMIT that deletes
-- the row. So a row with alive_until NULL whose lock is free belongs to a dead waiter, and any
-- session may delete it. Session locks are used only where the client's session number is
-- CONNECTION_ID(): behind a pooler it is not.
--
-- rowlock_enqueue, place, await and overtake answer by a result set. To request.sql, which passes
-- the session number -1 or a negative limit of overtake, they answer by the user variables
-- @rowlock_status, @rowlock_number and so on.

{own_mode};

DELIMITER //

-- ---- dead tickets -------------------------------------------------------------------------------

-- Deletes one ticket if its waiter is dead: alive_until has passed, or it is NULL and the session
-- lock is free.
CREATE OR REPLACE PROCEDURE rowlock_remove_dead_ticket(IN p_ticket BIGINT, OUT p_gone TINYINT)
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
            DECLARE EXIT HANDLER FOR 1205, 1213 ROLLBACK AND NO CHAIN NO RELEASE;

            START TRANSACTION READ WRITE;
            SET STATEMENT innodb_lock_wait_timeout = 1 FOR
                DELETE FROM rowlock_waiter
                 WHERE ticket = p_ticket
                   AND (alive_until IS NULL OR alive_until <= utc_timestamp(6));
            SELECT count(*) = 0 INTO p_gone FROM rowlock_waiter WHERE ticket = p_ticket;
            COMMIT AND NO CHAIN NO RELEASE;
        END;
    END IF;
END//

-- Deletes the dead tickets at the head of the queue ahead of p_ticket (0: all), up to the first
-- live one; first the ticket p_suspect if it is dead (0: none). p_gone: whether any was dead.
CREATE OR REPLACE PROCEDURE rowlock_remove_dead(
    IN p_wants LONGTEXT CHARACTER SET ascii, IN p_ticket BIGINT, IN p_suspect BIGINT,
    OUT p_gone TINYINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_before INT;
    DECLARE v_last, v_first BIGINT;
    DECLARE v_gone TINYINT DEFAULT 0;

    SET p_gone = 0;
    IF p_suspect <> 0 THEN
        CALL rowlock_remove_dead_ticket(p_suspect, p_gone);
    END IF;
    heads: LOOP
        CALL rowlock_queue(p_wants, p_ticket, v_before, v_last, v_first);
        COMMIT AND NO CHAIN NO RELEASE;
        IF v_before = 0 THEN
            LEAVE heads;
        END IF;
        CALL rowlock_remove_dead_ticket(v_first, v_gone);
        IF NOT v_gone THEN
            LEAVE heads;
        END IF;
        SET p_gone = 1;
    END LOOP;
END//

-- For vacuum: deletes every ticket whose waiter is dead, and counts the rows.
CREATE OR REPLACE PROCEDURE rowlock_vacuum_queue(OUT p_removed BIGINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_end, v_gone TINYINT DEFAULT 0;
    DECLARE v_ticket BIGINT;
    DECLARE v_rows INT;
    DECLARE c_tickets CURSOR FOR SELECT ticket, count(*) FROM rowlock_waiter GROUP BY ticket;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_end = 1;

    SET p_removed = 0;
    OPEN c_tickets;
    COMMIT AND NO CHAIN NO RELEASE;             -- the cursor has read all it needs
    tickets: LOOP
        FETCH c_tickets INTO v_ticket, v_rows;
        IF v_end THEN
            LEAVE tickets;
        END IF;
        CALL rowlock_remove_dead_ticket(v_ticket, v_gone);
        SET p_removed = p_removed + IF(v_gone, v_rows, 0);
    END LOOP;
    CLOSE c_tickets;
    BEGIN
        -- If a waiter has its row locked, the next roll call deletes the rows.
        DECLARE EXIT HANDLER FOR 1205, 1213 ROLLBACK AND NO CHAIN NO RELEASE;

        START TRANSACTION READ WRITE;
        SET STATEMENT innodb_lock_wait_timeout = 0 FOR
            CALL rowlock_forget_roll_calls();
        COMMIT AND NO CHAIN NO RELEASE;
    END;
END//

-- ---- positions in the queue ---------------------------------------------------------------------

-- Deletes the ticket, or (0) all tickets of the owner. p_gives_up: the history records it.
CREATE OR REPLACE PROCEDURE rowlock_leave_queue(
    IN p_ticket BIGINT, IN p_owner VARBINARY(255), IN p_gives_up TINYINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_rows INT;
    DECLARE v_ticket BIGINT;

    tickets: LOOP
        SET v_ticket = IF(p_ticket = 0, NULL, p_ticket);
        IF p_ticket = 0 THEN
            SELECT MIN(ticket) INTO v_ticket FROM rowlock_waiter WHERE owner = p_owner;
            COMMIT AND NO CHAIN NO RELEASE;
        END IF;
        IF v_ticket IS NULL THEN
            LEAVE tickets;
        END IF;
        START TRANSACTION READ WRITE;
        IF p_gives_up THEN
            {log rowlock_log_waiter(v_ticket)};
        END IF;
        SET v_rows = 1;
        -- a killed DELETE may report no error: see rowlock_drop
        WHILE v_rows > 0 DO
            DELETE FROM rowlock_waiter WHERE ticket = v_ticket;
            SELECT count(*) INTO v_rows FROM rowlock_waiter WHERE ticket = v_ticket;
        END WHILE;
        COMMIT AND NO CHAIN NO RELEASE;
        DO RELEASE_LOCK(CONCAT('rowlock:', MD5(DATABASE()), ':', v_ticket));
        IF p_ticket <> 0 THEN
            LEAVE tickets;
        END IF;
    END LOOP;
END//

-- Takes the session lock of the new ticket before the COMMIT that shows its rows.
CREATE OR REPLACE PROCEDURE rowlock_insert_waiter(
    IN p_wants LONGTEXT CHARACTER SET ascii, IN p_owner VARBINARY(255), IN p_session BIGINT,
    IN p_good_ms BIGINT, IN p_host VARCHAR(255) CHARACTER SET utf8mb4, IN p_pid BIGINT,
    IN p_command VARCHAR(255) CHARACTER SET utf8mb4, IN p_note VARCHAR(1024) CHARACTER SET utf8mb4,
    OUT p_ticket BIGINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    {lease_want};
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        ROLLBACK AND NO CHAIN NO RELEASE;
        DO RELEASE_LOCK(CONCAT('rowlock:', MD5(DATABASE()), ':', COALESCE(p_ticket, 0)));
        RESIGNAL;
    END;

    START TRANSACTION READ WRITE;
    CALL rowlock_draw(0, p_ticket);
    WHILE p_wants <> '' DO
        CALL rowlock_next_lease_want(p_wants, v_name, v_mode, v_limit, v_count);
        INSERT INTO rowlock_waiter (ticket, name, mode, `limit`, `count`, owner, host, pid, command,
                                    note, since, alive_until)
            VALUES (p_ticket, v_name, FIELD(v_mode, 'x', 's', 'p'),
                    IF(v_mode = 'p', v_limit, NULL), IF(v_mode = 'p', v_count, 1), p_owner, p_host,
                    p_pid, p_command, p_note, utc_timestamp(6),
                    IF(p_session = CONNECTION_ID(), NULL, {after p_good_ms}));
    END WHILE;
    IF p_session = CONNECTION_ID() THEN
        DO GET_LOCK(CONCAT('rowlock:', MD5(DATABASE()), ':', p_ticket), 0);
    END IF;
    COMMIT AND NO CHAIN NO RELEASE;
END//

CREATE OR REPLACE PROCEDURE rowlock_enqueue(
    IN p_wants LONGTEXT CHARACTER SET ascii, IN p_owner VARBINARY(255), IN p_session BIGINT,
    IN p_good_ms BIGINT, IN p_host VARCHAR(255) CHARACTER SET utf8mb4, IN p_pid BIGINT,
    IN p_command VARCHAR(255) CHARACTER SET utf8mb4, IN p_note VARCHAR(1024) CHARACTER SET utf8mb4)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    {conflict};
    DECLARE v_ticket BIGINT;
    DECLARE v_gone TINYINT DEFAULT 0;

    CALL rowlock_require_no_transaction();
    CALL rowlock_leave_queue(0, p_owner, 0);
    REPEAT
        {find_conflicts p_wants, 0};
        COMMIT AND NO CHAIN NO RELEASE;
        SET v_gone = 0;
        IF v_detail IS NOT NULL AND v_clash <> 0 THEN
            CALL rowlock_remove_dead_ticket(v_clash, v_gone);
        END IF;
    UNTIL NOT v_gone END REPEAT;
    IF v_detail IS NULL THEN
        CALL rowlock_insert_waiter(p_wants, p_owner, p_session, p_good_ms, p_host, p_pid, p_command,
                                   p_note, v_ticket);
    END IF;
    IF p_session = -1 THEN
        SET @rowlock_status = IF(v_detail IS NULL, 0, 13), @rowlock_number = COALESCE(v_ticket, 0),
            @rowlock_detail = v_detail;
    ELSEIF v_detail IS NOT NULL THEN
        SELECT 13 AS status, v_name AS name, 0 AS token, 0 AS number, v_detail AS detail;
    ELSE
        SELECT 0 AS status, NULL AS name, 0 AS token, v_ticket AS number, NULL AS detail;
    END IF;
END//

-- A ticket whose session lock was lost with its session lives on by alive_until, unless another
-- session has found it dead before.
CREATE OR REPLACE PROCEDURE rowlock_place(
    IN p_wants LONGTEXT CHARACTER SET ascii, IN p_ticket BIGINT, IN p_session BIGINT,
    IN p_good_ms BIGINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_locked, v_gone TINYINT DEFAULT 0;
    -- NULL: no answer, which never counts as free
    DECLARE v_mine, v_roll_call, v_before, v_leases INT;
    DECLARE v_last, v_first BIGINT;
    {conflict};
    DECLARE v_status TINYINT DEFAULT 0;

    CALL rowlock_require_no_transaction();
    SET v_locked = p_session = CONNECTION_ID() AND COALESCE(
        IS_USED_LOCK(CONCAT('rowlock:', MD5(DATABASE()), ':', p_ticket)) = CONNECTION_ID(), 0);
    IF NOT v_locked THEN
        START TRANSACTION READ WRITE;
        UPDATE rowlock_waiter
           SET alive_until = {after p_good_ms}, roll_call = NULL
         WHERE ticket = p_ticket;
        COMMIT AND NO CHAIN NO RELEASE;
    END IF;
    -- the usual case of a waiter that was just woken: it is first for its one name, and no lease
    -- exists
    SET v_name = UNHEX(SUBSTRING_INDEX(p_wants, ':', 1));
    SELECT (SELECT count(*) FROM rowlock_waiter WHERE ticket = p_ticket),
           (SELECT count(roll_call) FROM rowlock_waiter WHERE ticket = p_ticket),
           (SELECT MIN(ticket) FROM rowlock_waiter WHERE name = v_name),
           EXISTS (SELECT 1 FROM rowlock_name WHERE name = v_name AND held = 1)
           OR EXISTS (SELECT 1 FROM rowlock_lease WHERE name = v_name) OR LOCATE(',', p_wants) > 0
      INTO v_mine, v_roll_call, v_first, v_leases;
    COMMIT AND NO CHAIN NO RELEASE;             -- ends the read, where autocommit is off
    SET v_name = NULL;
    IF v_roll_call > 0 THEN
        START TRANSACTION READ WRITE;
        UPDATE rowlock_waiter SET roll_call = NULL WHERE ticket = p_ticket;
        COMMIT AND NO CHAIN NO RELEASE;
    END IF;
    looks: LOOP
        IF v_mine > 0 AND v_first = p_ticket AND v_leases = 0 THEN
            SET v_before = 0, v_live = 0, v_last = 0;
            LEAVE looks;
        END IF;
        SELECT count(*) INTO v_mine FROM rowlock_waiter WHERE ticket = p_ticket;
        {find_conflicts p_wants, p_ticket};
        CALL rowlock_queue(p_wants, p_ticket, v_before, v_last, v_first);
        COMMIT AND NO CHAIN NO RELEASE;
        SET v_gone = 0;
        IF v_detail IS NOT NULL AND v_clash <> 0 THEN
            CALL rowlock_remove_dead_ticket(v_clash, v_gone);
        ELSEIF v_before > 0 THEN
            CALL rowlock_remove_dead_ticket(v_first, v_gone);
            IF NOT v_gone AND v_last <> v_first THEN
                CALL rowlock_remove_dead_ticket(v_last, v_gone);
            END IF;
        END IF;
        IF NOT v_gone THEN
            LEAVE looks;
        END IF;
    END LOOP;
    COMMIT AND NO CHAIN NO RELEASE;             -- ends the read, where autocommit is off
    SET v_status = CASE WHEN v_mine = 0 THEN 12 WHEN v_detail IS NOT NULL THEN 13
                        WHEN v_before > 0 THEN 11 WHEN v_live <> 0 THEN 3 ELSE 0 END;
    -- Each session compiles the procedures that it calls. Between two leases of a queue that takes
    -- longer than anything else. So a waiter that will wait compiles its grant and release before,
    -- with the empty name, which has no row: no row is locked or changed.
    IF v_locked AND v_status <> 0 AND @rowlock_compiled IS NULL THEN
        SET @rowlock_compiled = 1;
        BEGIN
            DECLARE v_result INT;
            DECLARE v_number, v_token BIGINT;
            DECLARE v_found VARBINARY(255);
            DECLARE v_nothing VARCHAR(400) CHARACTER SET utf8mb4;
            DECLARE v_drawn BIGINT DEFAULT @rowlock_drawn;
            DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END;

            IF (SELECT technique FROM rowlock_meta) = 'row' THEN
                CALL rowlock_grant_once(':x:0:0', '', 0, 0, utc_timestamp(6), -1, 0, NULL, NULL,
                                        NULL, NULL, v_result, v_found, v_token, v_number,
                                        v_nothing);
                START TRANSACTION READ WRITE;
                CALL rowlock_decide_grant(':x:0:0', '', 0, -1, v_result, v_found, v_token,
                                          v_number, v_nothing);
                CALL rowlock_insert_lease(':x:0:0', '', 0, 0, 0, NULL, NULL, NULL, NULL, v_token);
            END IF;
            ROLLBACK AND NO CHAIN NO RELEASE;   -- also of the read, where autocommit is off
            SET @rowlock_drawn = v_drawn;
            CALL rowlock_release_lease(0, '', '');
        END;
    END IF;
    IF p_session = -1 THEN
        SET @rowlock_status = v_status, @rowlock_number = IF(v_status = 11, v_last, v_live),
            @rowlock_before = v_before, @rowlock_free = v_live = 0, @rowlock_detail = v_detail;
    ELSE
        SELECT v_status AS status,
               CASE v_status WHEN 11 THEN v_last WHEN 3 THEN v_live ELSE 0 END AS number,
               v_before AS before_, v_live = 0 AS free,
               GREATEST(COALESCE(CEILING(TIMESTAMPDIFF(MICROSECOND, utc_timestamp(6),
                                                       v_expires) / 1000), 0), 0) AS expires_ms,
               v_locked AS locked, v_name AS name, v_detail AS detail;
    END IF;
END//

-- The session that holds the lock does not wait, and its own ticket is never dead.
--
-- When the ticket directly ahead ends, its waiter usually has the lease. So if p_ticket is now
-- first for its one name, exclusively, the wait continues until that lease ends, for the rest of
-- the limit, but a second at most: the waiter then needs no look of its own between two leases.
CREATE OR REPLACE PROCEDURE rowlock_await(
    IN p_kind TINYINT, IN p_number BIGINT, IN p_limit_ms BIGINT, IN p_ticket BIGINT,
    IN p_session BIGINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_lock VARCHAR(64) CHARACTER SET utf8mb4
        DEFAULT CONCAT('rowlock:', MD5(DATABASE()), ':', p_number);
    DECLARE v_came, v_gone, v_mine TINYINT DEFAULT 0;
    DECLARE v_roll_call INT DEFAULT 0;
    DECLARE v_seconds DOUBLE DEFAULT IF(p_limit_ms < 0, 30, p_limit_ms / 1000);
    DECLARE v_end DATETIME(6);
    DECLARE v_token BIGINT;
    DECLARE v_expires DATETIME(6);
    DECLARE v_name VARBINARY(255);
    DECLARE v_next TINYINT DEFAULT 0;

    CALL rowlock_require_no_transaction();
    SET v_mine = COALESCE(IS_USED_LOCK(v_lock) = CONNECTION_ID(), 0),
        v_end = {after LEAST(IF(p_limit_ms < 0, 30000, p_limit_ms), 30000)};
    BEGIN
        DECLARE EXIT HANDLER FOR 1213, 3058     -- a cycle of sessions: the rows will resolve it
        BEGIN
            SET v_came = 0;
            DO SLEEP(LEAST(v_seconds, 0.25));
        END;

        slices: LOOP
            -- one expression: a KILL QUERY between two statements would leave the lock to this
            -- session. NULL: killed
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
        IF p_session = CONNECTION_ID() AND p_ticket <> 0 THEN
            BEGIN
                DECLARE EXIT HANDLER FOR 1213, 3058 BEGIN END;  -- a cycle of sessions, as above

                SELECT IF(count(*) = 1 AND MAX(mode = 'exclusive') = 1, MAX(name), NULL)
                  INTO v_name FROM rowlock_waiter WHERE ticket = p_ticket;
                SELECT COALESCE(MIN(ticket) = p_ticket, 0) INTO v_next FROM rowlock_waiter
                 WHERE name = v_name;
                SELECT MIN(token), MIN(expires) INTO v_token, v_expires FROM rowlock_held
                 WHERE name = v_name;
                COMMIT AND NO CHAIN NO RELEASE;
                IF v_next AND v_token IS NULL THEN
                    SET v_came = 2;
                ELSEIF v_next THEN
                    SET v_seconds = TIMESTAMPDIFF(MICROSECOND, utc_timestamp(6),
                                                  LEAST(v_end, v_expires)) / 1000000,
                        v_lock = CONCAT('rowlock:', MD5(DATABASE()), ':', v_token);
                    IF v_seconds > 0 THEN
                        SET v_came = CASE GET_LOCK(v_lock, LEAST(v_seconds, 1))
                                         WHEN 1 THEN RELEASE_LOCK(v_lock) + 1 ELSE 1 END;
                    END IF;
                END IF;
            END;
        END IF;
    END IF;
    IF p_session = -1 THEN
        SET @rowlock_number = COALESCE(v_came, 0);
    ELSE
        SELECT COALESCE(v_came, 0) AS number;
    END IF;
END//

CREATE OR REPLACE PROCEDURE rowlock_withdraw(IN p_ticket BIGINT, IN p_owner VARBINARY(255))
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    CALL rowlock_require_no_transaction();
    CALL rowlock_leave_queue(p_ticket, p_owner, 1);
    IF RAND() < 0.004 THEN
        BEGIN
            DECLARE v_removed BIGINT;
            DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END;

            CALL rowlock_prune(1000, v_removed);
        END;
    END IF;
END//

-- ---- frozen waiters -----------------------------------------------------------------------------

-- Sets p_blocked to 1 if the waiter of a ticket may be blocked by the name lock of a name that the
-- ticket p_mine does not have: then it cannot answer, without being frozen. Waits for no lock. A
-- read without an answer counts as blocked.
CREATE OR REPLACE PROCEDURE rowlock_is_blocked(
    IN p_ticket BIGINT, IN p_mine BIGINT, OUT p_blocked TINYINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_technique VARCHAR(16) CHARACTER SET utf8mb4;
    DECLARE v_name VARBINARY(255);
    DECLARE v_names BIGINT;
    DECLARE v_shared, v_end TINYINT DEFAULT 0;
    DECLARE v_status TINYINT;
    DECLARE v_detail VARCHAR(400) CHARACTER SET utf8mb4;
    DECLARE c_names CURSOR FOR
        SELECT name, mode = 'shared' FROM rowlock_waiter
         WHERE ticket = p_ticket
           AND name NOT IN (SELECT name FROM rowlock_waiter WHERE ticket = p_mine);
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_end = 1;

    SELECT technique INTO v_technique FROM rowlock_meta;
    SELECT count(*) INTO v_names FROM rowlock_waiter
     WHERE ticket = p_ticket
       AND name NOT IN (SELECT name FROM rowlock_waiter WHERE ticket = p_mine);
    SET p_blocked = 0;
    OPEN c_names;
    names: LOOP
        SET v_status = NULL;
        FETCH c_names INTO v_name, v_shared;
        IF v_end OR p_blocked THEN
            LEAVE names;
        END IF;
        SET v_names = v_names - 1;
        CALL rowlock_name_lock(v_name, v_shared AND COALESCE(v_technique, '') <> 'insert', 0,
                               v_status, v_detail);
        SET p_blocked = COALESCE(v_status IN (1, 2), 1);
    END LOOP;
    CLOSE c_names;
    IF COALESCE(v_names <> 0, 1) THEN           -- a read got no answer
        SET p_blocked = 1;
    END IF;
END//

-- Carries out a roll call for the tickets ahead of the caller's, under the name locks. p_roll_call
-- 0: sets roll_call to p_number where it is NULL. Otherwise deletes the tickets that still have
-- that roll call or an earlier one. It locks each row by its primary key, in the order in which
-- owners lock them: a scan by name would deadlock with them.
CREATE OR REPLACE PROCEDURE rowlock_call_roll(
    IN p_ticket BIGINT, IN p_roll_call BIGINT, IN p_number BIGINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_end, v_blocked TINYINT DEFAULT 0;
    DECLARE v_ticket BIGINT;
    DECLARE v_name VARBINARY(255);
    DECLARE v_silent INT;
    DECLARE c_tickets CURSOR FOR
        SELECT w.ticket, w.name FROM rowlock_waiter m
          JOIN rowlock_waiter w ON w.name = m.name AND w.ticket < m.ticket
         WHERE m.ticket = p_ticket
           AND IF(p_roll_call = 0, w.roll_call IS NULL, COALESCE(w.roll_call <= p_roll_call, 0))
         ORDER BY w.ticket, w.name;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_end = 1;

    OPEN c_tickets;
    tickets: LOOP
        FETCH c_tickets INTO v_ticket, v_name;
        IF v_end THEN
            LEAVE tickets;
        END IF;
        IF p_roll_call = 0 THEN
            UPDATE rowlock_waiter SET roll_call = p_number
             WHERE ticket = v_ticket AND name = v_name AND roll_call IS NULL;
        ELSE
            SET v_silent = 0, v_blocked = 1;    -- a ticket is deleted only after a definite answer
            SELECT COALESCE(SUM(name = v_name AND roll_call <= p_roll_call), 0) INTO v_silent
              FROM rowlock_waiter WHERE ticket = v_ticket FOR UPDATE;
            IF v_silent > 0 THEN
                CALL rowlock_is_blocked(v_ticket, p_ticket, v_blocked);
                IF NOT v_blocked THEN
                    DELETE FROM rowlock_waiter WHERE ticket = v_ticket;
                END IF;
            END IF;
        END IF;
    END LOOP;
    CLOSE c_tickets;
END//

CREATE OR REPLACE PROCEDURE rowlock_overtake(
    IN p_wants LONGTEXT CHARACTER SET ascii, IN p_ticket BIGINT, IN p_roll_call BIGINT,
    IN p_limit_ms BIGINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_number BIGINT DEFAULT 0;
    {conflict};
    DECLARE v_status TINYINT;

    CALL rowlock_require_no_transaction();
    BEGIN
        DECLARE EXIT HANDLER FOR 1205, 1969, 1213
        BEGIN
            ROLLBACK AND NO CHAIN NO RELEASE;
            SET v_number = 0;
        END;
        {handler_rolls_back};

        CALL rowlock_sweep_leases(p_wants);     -- the row of an expired lease gives no name lock
        START TRANSACTION READ WRITE;
        CALL rowlock_name_lock_all(p_wants, NULL, 0, {after ABS(p_limit_ms)}, v_status, v_name,
                                   v_detail);
        IF v_status = 0 THEN
            {find_conflicts p_wants, p_ticket};
        END IF;
        IF v_live = 0 AND v_detail IS NULL THEN
            SET v_number = p_roll_call;
            IF p_roll_call = 0 THEN
                CALL rowlock_draw(0, v_number);
            END IF;
            CALL rowlock_call_roll(p_ticket, p_roll_call, v_number);
        END IF;
        COMMIT AND NO CHAIN NO RELEASE;
    END;
    IF v_status = 5 THEN                        -- vacuum deleted a row: the next attempt creates it
        CALL rowlock_ensure_leases(p_wants);
    END IF;
    IF p_limit_ms < 0 THEN
        SET @rowlock_number = v_number;
    ELSE
        SELECT v_number AS number;
    END IF;
END//

-- ---- session locks, sessions --------------------------------------------------------------------

-- GET_LOCK counts its calls, so a session must not take again a lock that it holds.
CREATE OR REPLACE PROCEDURE rowlock_session_lock(IN p_kind TINYINT, IN p_number BIGINT,
                                                 IN p_session BIGINT)
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE v_lock VARCHAR(64) CHARACTER SET utf8mb4
        DEFAULT CONCAT('rowlock:', MD5(DATABASE()), ':', p_number);

    CALL rowlock_require_no_transaction();
    IF p_session = CONNECTION_ID() AND IS_FREE_LOCK(v_lock) THEN
        DO GET_LOCK(v_lock, 0);
    END IF;
END//

CREATE OR REPLACE PROCEDURE rowlock_session_unlock(IN p_kind TINYINT, IN p_number BIGINT,
                                                   IN p_session BIGINT)
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    CALL rowlock_require_no_transaction();
    DO RELEASE_LOCK(CONCAT('rowlock:', MD5(DATABASE()), ':', p_number));
END//

-- Releases the session lock that remains from a grant or a ticket that was killed halfway: that of
-- the number which the session drew last (grant_free leaves its own in LAST_INSERT_ID), if no row
-- has it. A handler could not release it, because none runs between two statements.
CREATE OR REPLACE PROCEDURE rowlock_session_unlock_lost()
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE v_last BIGINT;
    DECLARE v_rows INT;
    DECLARE v_looks INT DEFAULT 0;

    CALL rowlock_require_no_transaction();
    REPEAT
        SET v_looks = v_looks + 1,
            v_last = COALESCE(IF(v_looks = 1, @rowlock_drawn, LAST_INSERT_ID()), 0);
        IF IS_USED_LOCK(CONCAT('rowlock:', MD5(DATABASE()), ':', v_last)) = CONNECTION_ID() THEN
            SELECT (SELECT count(*) FROM rowlock_alive WHERE token = v_last)
                 + (SELECT count(*) FROM rowlock_waiter WHERE ticket = v_last) INTO v_rows;
            COMMIT AND NO CHAIN NO RELEASE;
            IF v_rows = 0 THEN
                DO RELEASE_LOCK(CONCAT('rowlock:', MD5(DATABASE()), ':', v_last));
            END IF;
        END IF;
    UNTIL v_looks = 2 END REPEAT;
END//

-- start is the start time of the server in seconds, as in UUID_SHORT(), because session numbers
-- begin again when the server restarts.
CREATE OR REPLACE PROCEDURE rowlock_session()
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    SELECT CONNECTION_ID() AS number, UUID_SHORT() DIV 16777216 AS start;
END//

-- An account may end its own sessions. KILL returns before the session and its locks are gone, so
-- this waits for that.
CREATE OR REPLACE PROCEDURE rowlock_end_session(IN p_number BIGINT, IN p_start BIGINT)
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE v_there, v_tries INT DEFAULT 0;
    DECLARE CONTINUE HANDLER FOR 1094 BEGIN END;

    IF p_start = UUID_SHORT() DIV 16777216 AND p_number <> CONNECTION_ID() THEN
        KILL p_number;
        REPEAT
            DO SLEEP(LEAST(v_tries * 0.001, 0.05));
            SET v_tries = v_tries + 1;
            SELECT count(*) INTO v_there FROM information_schema.processlist WHERE id = p_number;
        UNTIL v_there = 0 OR v_tries > 60 END REPEAT;
    END IF;
END//

-- ---- holders and waiters ------------------------------------------------------------------------

-- For rowlock_list and list_longest.sql; SQL clients use rowlock_holders and rowlock_waiters. It
-- omits expired leases and dead waiters. It works only inside rowlock's database, whose name is
-- part of the session locks' names.
CREATE OR REPLACE SQL SECURITY INVOKER VIEW rowlock_listed AS
    SELECT 'held' AS state, l.name, MAX(l.mode) AS mode, l.token, 0 AS ticket,
           MAX(l.owner) AS owner, MAX(l.host) AS host, MAX(l.pid) AS pid,
           MAX(l.command) AS command, MAX(l.note) AS note,
           {read_instant MAX(l.acquired)} AS since_ms,
           {read_instant MAX(l.expires)} AS expires_ms,
           {ms_until MAX(l.expires)} AS left_ms,
           MAX(l.`limit`) AS `limit`, IF(MAX(l.mode) = 'permit', count(*), NULL) AS `count`,
           MAX(l.stop) AS stop
      FROM rowlock_held l
     WHERE l.expires > utc_timestamp(6)
     GROUP BY l.token, l.name
    UNION ALL
    SELECT 'waiting', w.name, w.mode, 0, w.ticket,
           w.owner, w.host, w.pid, w.command, w.note, {read_instant w.since}, NULL, NULL,
           w.`limit`, IF(w.mode = 'permit', w.`count`, NULL), 0
      FROM rowlock_waiter w
     WHERE IF(w.alive_until IS NULL,
              NOT IS_FREE_LOCK(CONCAT('rowlock:', MD5(DATABASE()), ':', w.ticket)),
              w.alive_until > utc_timestamp(6))//

-- Lists transactions too, if the caller may see them (privilege
-- PROCESS), where another session waits for the row.
CREATE OR REPLACE PROCEDURE rowlock_list(IN p_name VARBINARY(255))
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE v_n BIGINT;
    DECLARE EXIT HANDLER FOR 1142, 1227
        SELECT * FROM rowlock_listed WHERE p_name IS NULL OR name = p_name
         ORDER BY state, name, ticket, token;

    IF @rowlock_idle IS NOT NULL THEN
        CALL rowlock_restore_idle_limit();
    END IF;
    CALL rowlock_real_time();
    SELECT count(*) INTO v_n FROM information_schema.innodb_trx;    -- as in rowlock_holder
    SELECT h.* FROM (
        SELECT * FROM rowlock_listed WHERE p_name IS NULL OR name = p_name
        UNION ALL
        SELECT 'transaction', UNHEX(SUBSTRING(k.lock_data, 3)),
               IF(k.lock_mode LIKE 'S%', 'shared', 'exclusive'), 0, 0, NULL,
               SUBSTRING_INDEX(p.host, ':', 1), NULLIF(t.trx_mysql_thread_id, 0),
               IF(t.trx_mysql_thread_id = 0, 'prepared transaction (see XA RECOVER)', p.user),
               NULL, {read_instant CONVERT_TZ(t.trx_started, 'SYSTEM', '+00:00')},
               NULL, NULL, NULL, NULL, 0
          FROM information_schema.innodb_locks k
          JOIN information_schema.innodb_trx t
            ON t.trx_id = k.lock_trx_id AND t.trx_state <> 'LOCK WAIT'
          LEFT JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id
         WHERE k.lock_table = CONCAT('`', REPLACE(DATABASE(), '`', '``'), '`.`rowlock_name`')
           -- a name; otherwise a gap, or an entry of another index
           AND k.lock_index = 'PRIMARY'         -- not that of a fence
           AND (t.trx_id <> 0 OR 1 = (SELECT count(*) FROM information_schema.innodb_trx o
                                       WHERE o.trx_id = 0))
           AND IF(p_name IS NULL, k.lock_data LIKE '0x%' AND k.lock_data NOT LIKE '%,%',
                  k.lock_data = CONCAT('0x', LOWER(HEX(p_name))))
         GROUP BY t.trx_mysql_thread_id, k.lock_data, k.lock_mode, p.host, p.user, t.trx_started
    ) h ORDER BY h.state, h.name, h.ticket, h.token;
END//

-- InnoDB shows a lock only while another session waits for it. So this tries to lock the name and
-- rolls back at once; during that time a try of another session is refused. The answer holds only
-- for that time.
CREATE OR REPLACE PROCEDURE rowlock_probe(IN p_name VARBINARY(255))
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_exclusive, v_shared TINYINT DEFAULT 0;
    DECLARE v_technique VARCHAR(16) CHARACTER SET utf8mb4;
    DECLARE v_detail VARCHAR(400) CHARACTER SET utf8mb4;
    {handler_rolls_back};

    IF NOT (@@in_transaction OR {reads_only} OR @@GLOBAL.wsrep_on) THEN
        SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
        SELECT technique INTO v_technique FROM rowlock_meta;
        COMMIT AND NO CHAIN NO RELEASE;         -- ends the read, where autocommit is off
        START TRANSACTION READ WRITE;
        CALL rowlock_name_lock(p_name, 0, 0, v_exclusive, v_detail);
        IF v_exclusive = 1 AND v_technique <> 'insert' THEN
            CALL rowlock_name_lock(p_name, 1, 0, v_shared, v_detail);
        END IF;
        ROLLBACK AND NO CHAIN NO RELEASE;
    END IF;
    SELECT CASE WHEN v_exclusive <> 1 THEN NULL
                WHEN v_technique = 'insert' OR v_shared = 1 THEN 'exclusive'
                ELSE 'shared' END AS mode;
END//

{end_of_piece};
