-- rowlock on MariaDB, SQL procedures for leases that wait, for clients without the C library. Run
-- lease.sql, queue.sql and door.sql first.
--
--   rowlock_request(name, ttl_ms, owner, wait_ms, mode, limit, host, pid, program, note, token,
--                   ticket, place, holder), outside a transaction
--   rowlock_request_row: the same with the answer as a result set
--   rowlock_cancel(name, owner, canceled)
--
-- The client repeats one statement, with the same owner, until it returns a token. Between two
-- calls it has only its ticket, whose alive_until is 7 s ahead, and no session lock: so a request
-- works behind a pooler. A client that dies or freezes delays the queue by at most 12 s. The queue
-- is that of queue.sql. sql/postgresql/schema/request.sql describes procedures without a comment of
-- their own.

{own_mode};

-- The roll call of such a waiter, which its next call continues. The C library keeps this in
-- memory: src/lease/machine/queue.c describes the three visits.
CREATE TABLE IF NOT EXISTS rowlock_roll_caller (
    ticket BIGINT NOT NULL,
    behind BIGINT NOT NULL,           -- the ticket directly ahead
    due    DATETIME(6) NOT NULL,      -- the time of the next visit, UTC
    called BIGINT NULL,               -- the number of the roll call; NULL: not begun
    waited TINYINT NOT NULL DEFAULT 0, -- whether the second visit was made
    PRIMARY KEY (ticket)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

DELIMITER //

CREATE OR REPLACE PROCEDURE rowlock_check_owner(IN p_owner VARCHAR(255) CHARACTER SET utf8mb4)
    SQL SECURITY INVOKER NO SQL
BEGIN
    IF p_owner IS NULL OR LENGTH(p_owner) NOT BETWEEN 16 AND 64 THEN
        SIGNAL SQLSTATE 'RL003' SET MYSQL_ERRNO = 30003, MESSAGE_TEXT =
            'rowlock: owner must have 16 to 64 bytes: draw a random one for each lease, such as '
            'UUID()';
    END IF;
END//

-- Waits until the ticket is next and no lease conflicts, and only reads. It ends early if the
-- ticket is gone, must report that its waiter lives, or has another limit; and if the ticket ahead
-- may be dead.
CREATE OR REPLACE PROCEDURE rowlock_wait_turn(
    IN p_want LONGTEXT CHARACTER SET ascii, IN p_name VARBINARY(255), IN p_ticket BIGINT,
    IN p_end DATETIME(6), OUT p_next TINYINT, OUT p_waited TINYINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    {conflict};
    DECLARE v_ahead, v_left_ms, v_most_ms BIGINT;
    DECLARE v_unlocked BIGINT DEFAULT 0;
    DECLARE v_alive_until DATETIME(6);
    DECLARE v_mine, v_before INT;
    DECLARE v_cut TINYINT DEFAULT 0;
    DECLARE v_pause DOUBLE DEFAULT 0.01;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;

    SET p_waited = 0;
    waits: LOOP
        -- NULL: no answer, which never counts as free
        SET v_mine = NULL, v_before = NULL, v_ahead = 0, v_alive_until = NULL;
        {find_conflicts p_want, p_ticket};
        SELECT (SELECT count(*) FROM rowlock_waiter WHERE ticket = p_ticket AND roll_call IS NULL),
               (SELECT count(*)
                  FROM (SELECT ticket FROM rowlock_waiter FORCE INDEX (rowlock_waiter_name)
                         WHERE name BETWEEN p_name AND p_name AND ticket < p_ticket LIMIT 17) w)
          INTO v_mine, v_before;
        SELECT ticket, alive_until INTO v_ahead, v_alive_until FROM rowlock_waiter
         WHERE name = p_name AND ticket < p_ticket ORDER BY ticket DESC LIMIT 1;
        COMMIT AND NO CHAIN NO RELEASE;
        SET v_left_ms = {ms_until p_end};
        SET p_next = COALESCE(v_before = 0 AND v_live = 0 AND v_detail IS NULL, 0);
        IF p_next OR v_left_ms <= 0 OR v_cut <> 0 OR v_detail IS NOT NULL OR v_mine IS NULL
           OR v_mine = 0 OR v_before IS NULL OR v_alive_until <= utc_timestamp(6) THEN
            LEAVE waits;
        END IF;
        SET p_waited = 1, v_ahead = IF(v_before > 0, v_ahead, v_live);
        IF v_ahead <> v_unlocked THEN
            SET v_pause = 0.01;
            SET v_most_ms = IF(v_before > 0, 3000,
                               LEAST(1000, GREATEST(1, COALESCE({ms_until v_expires}, 1000))));
            SET @rowlock_number = 0;
            CALL rowlock_await(1, v_ahead, LEAST(v_left_ms, v_most_ms), p_ticket, -1);
            SET v_unlocked = IF(@rowlock_number, v_ahead, 0);
        ELSEIF v_before > 0 AND v_alive_until IS NULL THEN
            LEAVE waits;                        -- its session lock is free: it is dead
        ELSE                                    -- it has no session lock
            SET v_pause = LEAST(v_pause, v_left_ms / 1000);
            CALL rowlock_pause(v_pause, 0.1 + 0.05 * LEAST(v_before, 17), v_cut);
            IF v_cut = 7 THEN
                CALL rowlock_check_answer(NULL);
            END IF;
        END IF;
    END LOOP;
END//

-- sql_safe_updates refuses a DELETE without a key or LIMIT.
CREATE OR REPLACE PROCEDURE rowlock_forget_roll_calls()
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DELETE FROM rowlock_roll_caller
     WHERE NOT EXISTS (SELECT 1 FROM rowlock_waiter w WHERE w.ticket = rowlock_roll_caller.ticket)
     LIMIT 1000000;
END//

CREATE OR REPLACE PROCEDURE rowlock_visit(
    IN p_want LONGTEXT CHARACTER SET ascii, IN p_ticket BIGINT, IN p_behind BIGINT,
    IN p_before INT, IN p_limit_ms BIGINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_behind, v_called, v_number BIGINT;
    DECLARE v_due, v_now DATETIME(6);
    DECLARE v_waited TINYINT DEFAULT 0;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    -- another waiter is removing the rows of tickets that are gone: the next call makes the visit
    DECLARE EXIT HANDLER FOR 1205, 1213 ROLLBACK AND NO CHAIN NO RELEASE;

    SELECT behind, due, called, waited INTO v_behind, v_due, v_called, v_waited
      FROM rowlock_roll_caller WHERE ticket = p_ticket;
    COMMIT AND NO CHAIN NO RELEASE;
    SET v_now = utc_timestamp(6);
    IF v_due IS NULL OR p_before > 16 AND v_behind <> p_behind THEN
        START TRANSACTION READ WRITE;
        CALL rowlock_forget_roll_calls();
        REPLACE INTO rowlock_roll_caller (ticket, behind, due)
            VALUES (p_ticket, p_behind, v_now + INTERVAL IF(p_before > 16, 10, 2) SECOND);
        COMMIT AND NO CHAIN NO RELEASE;
    ELSEIF v_due <= v_now THEN
        IF v_now >= v_due + INTERVAL 3 SECOND THEN      -- suspended, perhaps with all the others
            SET v_called = NULL, v_waited = 0;
        END IF;
        SET @rowlock_number = 0;
        CALL rowlock_overtake(p_want, p_ticket, IF(v_waited, v_called, 0), -p_limit_ms);
        SET v_number = @rowlock_number;
        START TRANSACTION READ WRITE;
        IF v_number <> 0 AND v_waited THEN
            DELETE FROM rowlock_roll_caller WHERE ticket = p_ticket;
        ELSE
            UPDATE rowlock_roll_caller
               SET due = utc_timestamp(6)
                         + INTERVAL IF(v_number <> 0 AND v_called IS NULL, 5, 2) SECOND,
                   waited = v_number <> 0 AND v_called IS NOT NULL,
                   called = COALESCE(v_called, NULLIF(v_number, 0))
             WHERE ticket = p_ticket;
        END IF;
        COMMIT AND NO CHAIN NO RELEASE;
    END IF;
END//

CREATE OR REPLACE PROCEDURE rowlock_grant_next(
    IN p_want LONGTEXT CHARACTER SET ascii, IN p_owner VARBINARY(255), IN p_ttl_ms BIGINT,
    IN p_ticket BIGINT, IN p_fresh TINYINT, IN p_end DATETIME(6),
    IN p_host VARCHAR(255) CHARACTER SET utf8mb4, IN p_pid BIGINT,
    IN p_program VARCHAR(255) CHARACTER SET utf8mb4, IN p_note VARCHAR(1024) CHARACTER SET utf8mb4,
    OUT p_status TINYINT, OUT p_token BIGINT, OUT p_detail VARCHAR(400) CHARACTER SET utf8mb4)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_name VARBINARY(255);
    DECLARE v_number, v_left_ms BIGINT;

    CALL rowlock_grant_answer(p_want, p_owner, IF(p_fresh, p_ttl_ms, LEAST(p_ttl_ms, 3000)), 0,
                              p_ticket, 0, p_host, p_pid, p_program, p_note, p_status, v_name,
                              p_token, v_number, p_detail);
    -- In one wait, by whole seconds: short tries starve behind others' locks. A call that does not
    -- wait does so for the name lock, as every try does.
    SET v_left_ms = GREATEST(250,
        TIMESTAMPDIFF(MICROSECOND, utc_timestamp(6), p_end) DIV 1000000 * 1000);
    IF p_status = 1 THEN
        SET p_fresh = 0;
        CALL rowlock_grant_answer(p_want, p_owner, LEAST(p_ttl_ms, 3000), v_left_ms, p_ticket, 0,
                                  p_host, p_pid, p_program, p_note, p_status, v_name, p_token,
                                  v_number, p_detail);
        IF p_status = 0 THEN
            COMMIT AND NO CHAIN NO RELEASE;
        END IF;
    END IF;
    SET p_token = IF(p_fresh, p_token, NULL);
END//

-- Finds the ticket and the lease of a request, 0: none. p_due: the time of the next visit of its
-- roll call. p_until: when a call must renew alive_until. p_others: the number of other tickets of
-- the owner, and of its leases in another mode; NULL if the statement was killed.
CREATE OR REPLACE PROCEDURE rowlock_find_request(
    IN p_name VARBINARY(255), IN p_owner VARBINARY(255),
    IN p_mode VARCHAR(255) CHARACTER SET utf8mb4, IN p_limit INT,
    OUT p_ticket BIGINT, OUT p_due DATETIME(6), OUT p_until DATETIME(6), OUT p_token BIGINT,
    OUT p_others INT)
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    SELECT (SELECT MAX(ticket) FROM rowlock_waiter
             WHERE owner = p_owner AND name = p_name AND mode = p_mode AND `limit` <=> p_limit),
           (SELECT MAX(token) FROM rowlock_held WHERE name = p_name AND owner = p_owner),
           (SELECT count(*) FROM rowlock_waiter
             WHERE owner = p_owner
               AND NOT (name = p_name AND mode = p_mode AND `limit` <=> p_limit))
           + (SELECT count(*) FROM rowlock_held
               WHERE name = p_name AND owner = p_owner
                 AND NOT (mode = p_mode AND `limit` <=> p_limit))
      INTO p_ticket, p_token, p_others;
    SELECT (SELECT MAX(due) FROM rowlock_roll_caller WHERE ticket = p_ticket),
           (SELECT MAX(alive_until) FROM rowlock_waiter WHERE ticket = p_ticket)
           - INTERVAL 1 SECOND
      INTO p_due, p_until;
    COMMIT AND NO CHAIN NO RELEASE;
    SET p_ticket = COALESCE(p_ticket, 0), p_token = COALESCE(p_token, 0);
END//

CREATE OR REPLACE PROCEDURE rowlock_attempt(
    IN p_want LONGTEXT CHARACTER SET ascii, IN p_owner VARBINARY(255), IN p_ttl_ms BIGINT,
    IN p_wait_ms BIGINT, IN p_mode VARCHAR(255) CHARACTER SET utf8mb4, IN p_limit INT,
    IN p_host VARCHAR(255) CHARACTER SET utf8mb4, IN p_pid BIGINT,
    IN p_program VARCHAR(255) CHARACTER SET utf8mb4, IN p_note VARCHAR(1024) CHARACTER SET utf8mb4,
    OUT p_status TINYINT, OUT p_token BIGINT, OUT p_ticket BIGINT, OUT p_place BIGINT,
    OUT p_detail VARCHAR(400) CHARACTER SET utf8mb4)
    SQL SECURITY INVOKER MODIFIES SQL DATA
whole: BEGIN
    DECLARE v_wanted VARBINARY(255) DEFAULT UNHEX(SUBSTRING_INDEX(p_want, ':', 1));
    DECLARE v_end, v_due, v_until DATETIME(6);
    DECLARE v_others INT;
    DECLARE v_number BIGINT;
    DECLARE v_next, v_waited TINYINT;
    DECLARE v_name VARBINARY(255);

    CALL rowlock_require_no_transaction();
    {describe_client};
    SET v_end = utc_timestamp(6) + INTERVAL LEAST(GREATEST(COALESCE(p_wait_ms, 0), 0), 5000,
        IF(@@max_statement_time > 0, @@max_statement_time * 800, 5000)) * 1000 MICROSECOND;
    CALL rowlock_find_request(v_wanted, p_owner, p_mode, p_limit, p_ticket, v_due, v_until, p_token,
                              v_others);
    CALL rowlock_check_answer(v_others);
    -- an owner has one request
    IF v_others <> 0 THEN
        SIGNAL SQLSTATE 'RL003' SET MYSQL_ERRNO = 30003, MESSAGE_TEXT =
            'rowlock: this owner has requested another lease: draw a random one for each lease, '
            'such as UUID()';
    END IF;
    -- An earlier call, whose reply was lost, may have acquired the lease, although there is a
    -- ticket. It is adopted without the name lock, which a transaction that waits for the lease may
    -- have.
    IF p_token <> 0 THEN
        CALL rowlock_extend(p_token, p_ttl_ms, v_wanted, p_owner, p_status);
        IF p_status = 0 THEN
            IF p_ticket <> 0 THEN
                CALL rowlock_leave_queue(p_ticket, p_owner, 0);
            END IF;
            LEAVE whole;
        END IF;
    END IF;
    IF p_ticket = 0 THEN
        BEGIN
            {owner_lock p_owner};
            DECLARE EXIT HANDLER FOR SQLEXCEPTION
            BEGIN
                DO RELEASE_LOCK(v_lock);
                RESIGNAL;
            END;

            -- A cancel waits for the grant or the ticket of this call. This call may wait here for
            -- an earlier one, whose reply was lost: then its ticket is there now.
            -- After 2 s it continues: only a KILL QUERY leaves the lock to a session for longer.
            -- GET_LOCK counts its calls, so a session must not take a lock that it has.
            DO IF(IS_USED_LOCK(v_lock) = CONNECTION_ID(), 1, GET_LOCK(v_lock,
                  LEAST(2, IF(@@max_statement_time > 0, @@max_statement_time * 0.8, 2))));
            CALL rowlock_find_request(v_wanted, p_owner, p_mode, p_limit, p_ticket, v_due, v_until,
                                      p_token, v_others);
            CALL rowlock_check_answer(v_others);
            IF p_ticket = 0 THEN
                CALL rowlock_grant_answer(p_want, p_owner, p_ttl_ms, 0, 0, -1, p_host, p_pid,
                                          p_program, p_note, p_status, v_name, p_token, v_number,
                                          p_detail);
                IF p_status IN (0, 6, 7, 13) THEN
                    DO RELEASE_LOCK(v_lock);
                    LEAVE whole;
                END IF;
                SET @rowlock_number = NULL;
                CALL rowlock_enqueue(p_want, p_owner, -1, 7000, p_host, p_pid, p_program, p_note);
                SET p_status = @rowlock_status, p_ticket = @rowlock_number,
                    p_detail = @rowlock_detail;
                CALL rowlock_check_answer(p_ticket);
            END IF;
            DO RELEASE_LOCK(v_lock);
        END;
        IF p_status = 13 THEN
            LEAVE whole;
        END IF;
    ELSE
        SET v_end = LEAST(v_end, COALESCE(v_due, v_end), COALESCE(v_until, v_end));
        CALL rowlock_wait_turn(p_want, v_wanted, p_ticket, v_end, v_next, v_waited);
        IF v_next THEN
            CALL rowlock_grant_next(p_want, p_owner, p_ttl_ms, p_ticket, NOT v_waited, v_end,
                                    p_host, p_pid, p_program, p_note, p_status, p_token, p_detail);
            SET p_place = 0;
            IF p_status IN (0, 6, 7, 13) THEN
                LEAVE whole;
            END IF;
        END IF;
    END IF;
    SET p_token = NULL;
    SET @rowlock_status = NULL;
    CALL rowlock_place(p_want, p_ticket, -1, 7000);
    SET p_status = @rowlock_status, p_detail = @rowlock_detail, p_place = @rowlock_before + 1;
    CALL rowlock_check_answer(p_status);
    IF p_status = 12 THEN                       -- the next call queues again
        SET p_ticket = NULL, p_place = NULL;
    ELSEIF p_status = 11 AND @rowlock_free THEN
        CALL rowlock_visit(p_want, p_ticket, @rowlock_number, @rowlock_before,
            LEAST(2000, GREATEST(1000, {ms_until v_end})));
    ELSEIF v_due IS NOT NULL THEN
        START TRANSACTION READ WRITE;
        DELETE FROM rowlock_roll_caller WHERE ticket = p_ticket;
        COMMIT AND NO CHAIN NO RELEASE;
    END IF;
END//

CREATE OR REPLACE PROCEDURE rowlock_request(
    IN name LONGTEXT CHARACTER SET utf8mb4, IN ttl_ms BIGINT,
    IN owner VARCHAR(255) CHARACTER SET utf8mb4, IN wait_ms BIGINT,
    IN mode VARCHAR(255) CHARACTER SET utf8mb4, IN limit_ INT,
    IN host VARCHAR(255) CHARACTER SET utf8mb4, IN pid BIGINT,
    IN program VARCHAR(255) CHARACTER SET utf8mb4, IN note VARCHAR(1024) CHARACTER SET utf8mb4,
    OUT token BIGINT, OUT ticket BIGINT, OUT place BIGINT,
    OUT holder VARCHAR(400) CHARACTER SET utf8mb4, OUT pause_ms BIGINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
    COMMENT 'Acquires a lease and returns its token, or enters the queue and returns token NULL, the place in the queue and the holder. Repeat the call with the same owner, a random text, until it returns a token: at once after place 0, else within 5 s. It waits at most wait_ms, up to 5000, once it is in the queue; pause_ms: how long a client that does not wait here should pause. mode, limit_: as in rowlock_acquire; host, pid, program, note: shown to those who list the holders, or NULL. Call it outside a transaction.'
BEGIN
    DECLARE v_want LONGTEXT CHARACTER SET ascii;
    DECLARE v_detail VARCHAR(400) CHARACTER SET utf8mb4;
    DECLARE v_status TINYINT;
    {ends_own};
    CALL rowlock_pack_lease(name, mode, limit_, v_want);
    CALL rowlock_check_ttl(ttl_ms);
    CALL rowlock_check_owner(owner);
    CALL rowlock_attempt(v_want, owner, ttl_ms, wait_ms, mode, limit_, host, pid, program, note,
                         v_status, token, ticket, place, v_detail);
    IF v_status IN (6, 7, 13) THEN
        CALL rowlock_refuse(v_status, CONVERT(name USING utf8mb4), 0, v_detail);
    END IF;
    IF token IS NOT NULL THEN
        SET ticket = NULL, place = NULL;
    ELSEIF place > 0 THEN
        CALL rowlock_describe_holder(CONVERT(name USING utf8mb4), holder);
        IF NOT @@autocommit THEN
            COMMIT AND NO CHAIN NO RELEASE;     -- ends the read
        END IF;
    END IF;
    -- the place after the first looks as often as the first, which it may become at any time
    SET pause_ms = IF(COALESCE(place, 0) = 0, 0, LEAST(5000, 100 * GREATEST(2, place)));
    {restores_own};
END//

CREATE OR REPLACE PROCEDURE rowlock_request_row(
    IN name LONGTEXT CHARACTER SET utf8mb4, IN ttl_ms BIGINT,
    IN owner VARCHAR(255) CHARACTER SET utf8mb4, IN wait_ms BIGINT,
    IN mode VARCHAR(255) CHARACTER SET utf8mb4, IN limit_ INT,
    IN host VARCHAR(255) CHARACTER SET utf8mb4, IN pid BIGINT,
    IN program VARCHAR(255) CHARACTER SET utf8mb4, IN note VARCHAR(1024) CHARACTER SET utf8mb4)
    SQL SECURITY INVOKER MODIFIES SQL DATA
    COMMENT 'Same as rowlock_request, but returns token, ticket, place, holder and pause_ms as a result set of one row, so that a call is one statement.'
BEGIN
    DECLARE v_token, v_ticket, v_place, v_pause_ms BIGINT;
    DECLARE v_holder VARCHAR(400) CHARACTER SET utf8mb4;

    CALL rowlock_request(name, ttl_ms, owner, wait_ms, mode, limit_, host, pid, program, note,
                         v_token, v_ticket, v_place, v_holder, v_pause_ms);
    SELECT v_token AS token, v_ticket AS ticket, v_place AS place, v_holder AS holder,
           v_pause_ms AS pause_ms;
END//

CREATE OR REPLACE PROCEDURE rowlock_cancel(
    IN name LONGTEXT CHARACTER SET utf8mb4, IN owner VARCHAR(255) CHARACTER SET utf8mb4,
    OUT canceled TINYINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
    COMMENT 'Ends a request: leaves the queue, or releases the lease if it was granted. canceled: 1; 0 if there was none. Call it outside a transaction.'
BEGIN
    DECLARE v_name VARBINARY(255) DEFAULT CONVERT(name USING utf8mb4);
    DECLARE v_owner VARBINARY(255) DEFAULT owner;
    DECLARE v_ticket, v_token BIGINT;
    DECLARE v_rows INT DEFAULT 0;
    DECLARE v_came, v_looks TINYINT DEFAULT 0;
    {owner_lock v_owner};
    {ends_own};
    CALL rowlock_require_no_transaction();
    again: LOOP
        SELECT MAX(w.ticket) INTO v_ticket FROM rowlock_waiter w
         WHERE w.name = v_name AND w.owner = v_owner;
        COMMIT AND NO CHAIN NO RELEASE;
        IF v_looks > 0 OR v_ticket IS NOT NULL OR v_owner IS NULL THEN
            LEAVE again;
        END IF;
        -- A call without a ticket may be about to commit. One expression: a KILL QUERY between two
        -- statements would leave the lock to this session. NULL: killed.
        SET v_came = IF(IS_USED_LOCK(v_lock) = CONNECTION_ID(), RELEASE_LOCK(v_lock),
                        CASE GET_LOCK(v_lock, LEAST(5, @@innodb_lock_wait_timeout))
                             WHEN 1 THEN RELEASE_LOCK(v_lock) WHEN 0 THEN 0 END),
            v_looks = 1;
    END LOOP;
    IF v_ticket IS NOT NULL THEN
        CALL rowlock_leave_queue(v_ticket, v_owner, 1);
    END IF;
    -- read only now: the withdrawal waited for a grant in progress
    SELECT MAX(l.token) INTO v_token FROM rowlock_held l
     WHERE l.name = v_name AND l.owner = v_owner;
    COMMIT AND NO CHAIN NO RELEASE;
    IF v_token IS NOT NULL THEN
        CALL rowlock_end(v_token, v_name, 0, v_rows);
    END IF;
    SET canceled = v_ticket IS NOT NULL OR v_rows > 0;
    {restores_own};
    IF v_looks AND NOT canceled AND NOT COALESCE(v_came, 0) THEN
        SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1205, MESSAGE_TEXT =
            'rowlock: a call of this request may still run: repeat the cancel';
    END IF;
END//

{end_of_piece};
