-- rowlock on MariaDB, the queue for leases: who waits, for whom, and how it is seen that a waiter is
-- dead or frozen; and who holds and waits, as a list. Run install.sql and lease.sql first.
--
-- The rows decide; a session lock (GET_LOCK) is a hint that tells when to look again. Its name is
-- rowlock:MD5(database):number, of a ticket or a token. A session takes the lock of its ticket before
-- the COMMIT that shows the row, and gives it back after the COMMIT that removes it: so a row without
-- seen whose lock is free belongs to a dead one, whoever finds it may delete it.
-- Only where the client's idea of its session is CONNECTION_ID(): behind a pooler it is not.

SET @rowlock_sql_mode = @@SESSION.sql_mode;
SET SESSION sql_mode = 'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION';

DELIMITER //

-- ---- dead tickets ----------------------------------------------------------------------------------

-- Deletes one ticket if its owner is dead: its instant is over, or it has none and its lock is free.
CREATE OR REPLACE PROCEDURE rowlock_bury_ticket(IN p_ticket BIGINT, OUT p_gone TINYINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_rows, v_stamped, v_over INT DEFAULT 0;
    DECLARE v_dead TINYINT;

    -- the row first, then its lock: the other way round a living ticket would look dead
    SELECT count(*), COALESCE(SUM(seen IS NOT NULL), 0), COALESCE(SUM(seen <= utc_timestamp(6)), 0)
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
                 WHERE ticket = p_ticket AND (seen IS NULL OR seen <= utc_timestamp(6));
            SET p_gone = ROW_COUNT() > 0;
            COMMIT AND NO CHAIN NO RELEASE;
        END;
    END IF;
END//

-- Those at the head of the queue before p_ticket (0: all), up to the first that lives. p_suspect is
-- one of another kind, 0: none. p_gone: whether any was dead.
CREATE OR REPLACE PROCEDURE rowlock_bury(
    IN p_wants LONGTEXT CHARACTER SET ascii, IN p_ticket BIGINT, IN p_suspect BIGINT,
    OUT p_gone TINYINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_before INT;
    DECLARE v_last, v_first BIGINT;
    DECLARE v_gone TINYINT DEFAULT 0;

    SET p_gone = 0;
    IF p_suspect <> 0 THEN
        CALL rowlock_bury_ticket(p_suspect, p_gone);
    END IF;
    heads: LOOP
        CALL rowlock_queue(p_wants, p_ticket, v_before, v_last, v_first);
        COMMIT AND NO CHAIN NO RELEASE;
        IF v_before = 0 THEN
            LEAVE heads;
        END IF;
        CALL rowlock_bury_ticket(v_first, v_gone);
        IF NOT v_gone THEN
            LEAVE heads;
        END IF;
        SET p_gone = 1;
    END LOOP;
END//

-- Those of vacuum: every ticket whose owner is dead; how many rows that were.
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
    COMMIT AND NO CHAIN NO RELEASE;             -- the cursor has read all it wants
    tickets: LOOP
        FETCH c_tickets INTO v_ticket, v_rows;
        IF v_end THEN
            LEAVE tickets;
        END IF;
        CALL rowlock_bury_ticket(v_ticket, v_gone);
        SET p_removed = p_removed + IF(v_gone, v_rows, 0);
    END LOOP;
    CLOSE c_tickets;
END//

-- ---- a place in the queue --------------------------------------------------------------------------

-- All that an acquire call has in the queue, or one ticket.
CREATE OR REPLACE PROCEDURE rowlock_leave_queue(IN p_ticket BIGINT, IN p_owner VARBINARY(255))
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
        SET v_rows = 1;
        WHILE v_rows > 0 DO                     -- a DELETE that is killed may say nothing: see rowlock_end
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

-- The rows of a ticket, and its session lock before the COMMIT that shows them.
CREATE OR REPLACE PROCEDURE rowlock_insert_waiter(
    IN p_wants LONGTEXT CHARACTER SET ascii, IN p_owner VARBINARY(255), IN p_session BIGINT,
    IN p_good_ms BIGINT, IN p_host VARCHAR(255) CHARACTER SET utf8mb4, IN p_pid BIGINT,
    IN p_command VARCHAR(255) CHARACTER SET utf8mb4, IN p_note VARCHAR(1024) CHARACTER SET utf8mb4,
    OUT p_ticket BIGINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_name VARBINARY(255);
    DECLARE v_mode CHAR(1) CHARACTER SET ascii;
    DECLARE v_limit, v_count INT;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        ROLLBACK AND NO CHAIN NO RELEASE;
        DO RELEASE_LOCK(CONCAT('rowlock:', MD5(DATABASE()), ':', p_ticket));
        RESIGNAL;
    END;

    START TRANSACTION READ WRITE;
    CALL rowlock_draw(p_ticket);
    WHILE p_wants <> '' DO
        CALL rowlock_next_lease_want(p_wants, v_name, v_mode, v_limit, v_count);
        INSERT INTO rowlock_waiter (ticket, name, mode, `limit`, `count`, owner, host, pid, command,
                                    note, since, seen)
            VALUES (p_ticket, v_name, FIELD(v_mode, 'x', 's', 'p'),
                    IF(v_mode = 'p', v_limit, NULL), IF(v_mode = 'p', v_count, 1), p_owner, p_host,
                    p_pid, p_command, p_note, utc_timestamp(6),
                    IF(p_session = CONNECTION_ID(), NULL,
                       utc_timestamp(6) + INTERVAL p_good_ms * 1000 MICROSECOND));
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
    DECLARE v_name VARBINARY(255);
    DECLARE v_live, v_expired, v_clash, v_ticket BIGINT;
    DECLARE v_expires DATETIME(6);
    DECLARE v_detail VARCHAR(400) CHARACTER SET utf8mb4;
    DECLARE v_gone TINYINT DEFAULT 0;

    CALL rowlock_alone();
    CALL rowlock_leave_queue(0, p_owner);
    REPEAT
        CALL rowlock_survey(p_wants, 0, v_live, v_expires, v_expired, v_clash, v_name, v_detail);
        COMMIT AND NO CHAIN NO RELEASE;
        SET v_gone = 0;
        IF v_detail IS NOT NULL AND v_clash <> 0 THEN
            CALL rowlock_bury_ticket(v_clash, v_gone);
        END IF;
    UNTIL NOT v_gone END REPEAT;
    IF v_detail IS NOT NULL THEN
        SELECT 13 AS status, v_name AS name, 0 AS token, 0 AS number, v_detail AS detail;
    ELSE
        CALL rowlock_insert_waiter(p_wants, p_owner, p_session, p_good_ms, p_host, p_pid, p_command,
                                   p_note, v_ticket);
        SELECT 0 AS status, NULL AS name, 0 AS token, v_ticket AS number, NULL AS detail;
    END IF;
END//

-- One look, which also answers a roll call. A ticket whose session lock was lost with its session lives on
-- by its stamp, if nobody has found it dead before.
CREATE OR REPLACE PROCEDURE rowlock_place(
    IN p_wants LONGTEXT CHARACTER SET ascii, IN p_ticket BIGINT, IN p_session BIGINT,
    IN p_good_ms BIGINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_locked, v_gone TINYINT DEFAULT 0;
    DECLARE v_mine, v_called, v_before, v_leases INT;   -- NULL: not answered, which is never taken for free
    DECLARE v_live, v_expired, v_clash, v_last, v_first BIGINT;
    DECLARE v_expires DATETIME(6);
    DECLARE v_name VARBINARY(255);
    DECLARE v_detail VARCHAR(400) CHARACTER SET utf8mb4;
    DECLARE v_status TINYINT DEFAULT 0;

    CALL rowlock_alone();
    SET v_locked = p_session = CONNECTION_ID() AND COALESCE(
        IS_USED_LOCK(CONCAT('rowlock:', MD5(DATABASE()), ':', p_ticket)) = CONNECTION_ID(), 0);
    IF NOT v_locked THEN
        START TRANSACTION READ WRITE;
        UPDATE rowlock_waiter SET seen = utc_timestamp(6) + INTERVAL p_good_ms * 1000 MICROSECOND,
                                  called = NULL
         WHERE ticket = p_ticket;
        COMMIT AND NO CHAIN NO RELEASE;
    END IF;
    -- whoever was just woken finds this: first, and no lease at all
    SELECT (SELECT count(*) FROM rowlock_waiter WHERE ticket = p_ticket),
           (SELECT count(called) FROM rowlock_waiter WHERE ticket = p_ticket),
           (SELECT count(*) FROM rowlock_waiter m JOIN rowlock_waiter w
                ON w.name = m.name AND w.ticket < m.ticket WHERE m.ticket = p_ticket),
           (SELECT count(*) FROM rowlock_waiter m JOIN rowlock_lease l ON l.name = m.name
             WHERE m.ticket = p_ticket)
      INTO v_mine, v_called, v_before, v_leases;
    COMMIT AND NO CHAIN NO RELEASE;             -- what was read, where autocommit is off
    IF v_called > 0 THEN
        START TRANSACTION READ WRITE;
        UPDATE rowlock_waiter SET called = NULL WHERE ticket = p_ticket;
        COMMIT AND NO CHAIN NO RELEASE;
    END IF;
    looks: LOOP
        IF v_mine > 0 AND v_before = 0 AND v_leases = 0 THEN
            SET v_live = 0, v_first = 0, v_last = 0;
            LEAVE looks;
        END IF;
        SELECT count(*) INTO v_mine FROM rowlock_waiter WHERE ticket = p_ticket;
        CALL rowlock_survey(p_wants, p_ticket, v_live, v_expires, v_expired, v_clash, v_name, v_detail);
        CALL rowlock_queue(p_wants, p_ticket, v_before, v_last, v_first);
        COMMIT AND NO CHAIN NO RELEASE;
        SET v_gone = 0;
        IF v_detail IS NOT NULL AND v_clash <> 0 THEN
            CALL rowlock_bury_ticket(v_clash, v_gone);
        ELSEIF v_before > 0 THEN
            CALL rowlock_bury_ticket(v_first, v_gone);
            IF NOT v_gone AND v_last <> v_first THEN
                CALL rowlock_bury_ticket(v_last, v_gone);
            END IF;
        END IF;
        IF NOT v_gone THEN
            LEAVE looks;
        END IF;
    END LOOP;
    COMMIT AND NO CHAIN NO RELEASE;             -- what was read, where autocommit is off
    SET v_status = CASE WHEN v_mine = 0 THEN 12 WHEN v_detail IS NOT NULL THEN 13
                        WHEN v_before > 0 THEN 11 WHEN v_live <> 0 THEN 3 ELSE 0 END;
    SELECT v_status AS status,
           CASE v_status WHEN 11 THEN v_last WHEN 3 THEN v_live ELSE 0 END AS number,
           v_before AS before_, v_live = 0 AS free,
           GREATEST(COALESCE(CEILING(TIMESTAMPDIFF(MICROSECOND, utc_timestamp(6), v_expires) / 1000),
                             0), 0) AS expires_ms,
           v_locked AS locked, v_name AS name, v_detail AS detail;
END//

-- Blocks until the lock of that ticket or token can be had, for a moment. The session that has it
-- itself gets it at once: its own rows are never dead. A long wait ends early when a roll call waits for
-- an answer of our own ticket: it looks every 3 s.
CREATE OR REPLACE PROCEDURE rowlock_await(
    IN p_kind TINYINT, IN p_number BIGINT, IN p_limit_ms BIGINT, IN p_ticket BIGINT,
    IN p_session BIGINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_lock VARCHAR(64) CHARACTER SET utf8mb4
        DEFAULT CONCAT('rowlock:', MD5(DATABASE()), ':', p_number);
    DECLARE v_came, v_gone, v_mine TINYINT DEFAULT 0;
    DECLARE v_called INT DEFAULT 0;
    DECLARE v_seconds DOUBLE DEFAULT IF(p_limit_ms < 0, 30, p_limit_ms / 1000);

    CALL rowlock_alone();
    SET v_mine = COALESCE(IS_USED_LOCK(v_lock) = CONNECTION_ID(), 0);
    BEGIN
        DECLARE EXIT HANDLER FOR 1213           -- a ring of sessions: the rows will untie it
        BEGIN
            SET v_came = 0;
            DO SLEEP(LEAST(v_seconds, 0.25));
        END;

        slices: LOOP
            -- one expression: a KILL QUERY between two statements would leave the lock to this session.
            -- NULL: it was killed
            SET v_came = CASE GET_LOCK(v_lock, LEAST(v_seconds, 3)) WHEN 1 THEN RELEASE_LOCK(v_lock)
                                                                    WHEN 0 THEN 0 END;
            SET v_seconds = v_seconds - 3;
            IF v_came IS NULL OR v_came OR v_seconds <= 0 THEN
                LEAVE slices;
            END IF;
            SELECT count(called) INTO v_called FROM rowlock_waiter WHERE ticket = p_ticket;
            COMMIT AND NO CHAIN NO RELEASE;
            IF v_called > 0 THEN
                LEAVE slices;
            END IF;
        END LOOP;
    END;
    IF v_came AND p_kind = 0 AND NOT v_mine THEN
        CALL rowlock_bury_ticket(p_number, v_gone);
    END IF;
    SELECT COALESCE(v_came, 0) AS number;
END//

CREATE OR REPLACE PROCEDURE rowlock_withdraw(IN p_ticket BIGINT, IN p_owner VARBINARY(255))
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    CALL rowlock_alone();
    CALL rowlock_leave_queue(p_ticket, p_owner);
END//

-- ---- frozen waiters ----------------------------------------------------------------------------------

-- May the waiter of a ticket be blocked by the name lock of another name than those of p_mine? Then it is
-- silent without being frozen. Waits for nobody. What is not answered counts as blocked.
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
         WHERE ticket = p_ticket AND name NOT IN (SELECT name FROM rowlock_waiter WHERE ticket = p_mine);
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_end = 1;

    SELECT technique INTO v_technique FROM rowlock_meta;
    SELECT count(*) INTO v_names FROM rowlock_waiter
     WHERE ticket = p_ticket AND name NOT IN (SELECT name FROM rowlock_waiter WHERE ticket = p_mine);
    SET p_blocked = 0;
    OPEN c_names;
    names: LOOP
        SET v_status = NULL;
        FETCH c_names INTO v_name, v_shared;
        IF v_end OR p_blocked THEN
            LEAVE names;
        END IF;
        SET v_names = v_names - 1;
        CALL rowlock_take(v_name, v_shared AND COALESCE(v_technique, '') <> 'insert', 0, v_status, v_detail);
        SET p_blocked = COALESCE(v_status IN (1, 2), 1);
    END LOOP;
    CLOSE c_names;
    IF COALESCE(v_names <> 0, 1) THEN           -- a read was not answered
        SET p_blocked = 1;
    END IF;
END//

-- Under T, of the tickets before ours: call 0 marks with p_number those without a mark. Else those that
-- bear the mark of that call, or an earlier one, are removed. Each by its primary key, in its order, as their
-- owners lock them: a scan by name would deadlock with them.
CREATE OR REPLACE PROCEDURE rowlock_call_roll(
    IN p_ticket BIGINT, IN p_called BIGINT, IN p_number BIGINT)
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
           AND IF(p_called = 0, w.called IS NULL, COALESCE(w.called <= p_called, 0))
         ORDER BY w.ticket, w.name;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_end = 1;

    OPEN c_tickets;
    tickets: LOOP
        FETCH c_tickets INTO v_ticket, v_name;
        IF v_end THEN
            LEAVE tickets;
        END IF;
        IF p_called = 0 THEN
            UPDATE rowlock_waiter SET called = p_number
             WHERE ticket = v_ticket AND name = v_name AND called IS NULL;
        ELSE
            SET v_silent = 0, v_blocked = 1;    -- only an answer strikes
            SELECT COALESCE(SUM(name = v_name AND called <= p_called), 0) INTO v_silent
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

-- A roll call, under T of the wants and while no live lease is in the way. p_called 0: marks every ticket
-- before ours, and answers the number of this call. A live waiter removes its mark at its next look. Else
-- removes the tickets that still bear the mark of that call or an earlier one; a later mark is another
-- caller's, and too young.
CREATE OR REPLACE PROCEDURE rowlock_overtake(
    IN p_wants LONGTEXT CHARACTER SET ascii, IN p_ticket BIGINT, IN p_called BIGINT,
    IN p_limit_ms BIGINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_number BIGINT DEFAULT 0;
    DECLARE v_live, v_expired, v_clash BIGINT;
    DECLARE v_expires DATETIME(6);
    DECLARE v_name VARBINARY(255);
    DECLARE v_detail VARCHAR(400) CHARACTER SET utf8mb4;
    DECLARE v_status TINYINT;

    CALL rowlock_alone();
    BEGIN
        DECLARE EXIT HANDLER FOR 1205, 1969, 1213
        BEGIN
            ROLLBACK AND NO CHAIN NO RELEASE;
            SET v_number = 0;
        END;
        DECLARE EXIT HANDLER FOR SQLEXCEPTION
        BEGIN
            ROLLBACK AND NO CHAIN NO RELEASE;
            RESIGNAL;
        END;

        START TRANSACTION READ WRITE;
        CALL rowlock_take_leases(p_wants, 0, utc_timestamp(6) + INTERVAL p_limit_ms * 1000 MICROSECOND,
                                 v_status, v_name, v_detail);
        IF v_status = 0 THEN
            CALL rowlock_survey(p_wants, p_ticket, v_live, v_expires, v_expired, v_clash, v_name,
                                v_detail);
        END IF;
        IF v_live = 0 AND v_detail IS NULL THEN
            SET v_number = p_called;
            IF p_called = 0 THEN
                CALL rowlock_draw(v_number);
            END IF;
            CALL rowlock_call_roll(p_ticket, p_called, v_number);
        END IF;
        COMMIT AND NO CHAIN NO RELEASE;
    END;
    IF v_status = 5 THEN                        -- vacuum took a row: there at the next attempt
        CALL rowlock_ensure_leases(p_wants);
    END IF;
    SELECT v_number AS number;
END//

-- ---- session locks, sessions -------------------------------------------------------------------------

-- GET_LOCK counts: a lock that the session has is not taken once more.
CREATE OR REPLACE PROCEDURE rowlock_mark(IN p_kind TINYINT, IN p_number BIGINT, IN p_session BIGINT)
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE v_lock VARCHAR(64) CHARACTER SET utf8mb4
        DEFAULT CONCAT('rowlock:', MD5(DATABASE()), ':', p_number);

    CALL rowlock_alone();
    IF p_session = CONNECTION_ID() AND IS_FREE_LOCK(v_lock) THEN
        DO GET_LOCK(v_lock, 0);
    END IF;
END//

CREATE OR REPLACE PROCEDURE rowlock_unmark(IN p_kind TINYINT, IN p_number BIGINT, IN p_session BIGINT)
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    CALL rowlock_alone();
    DO RELEASE_LOCK(CONCAT('rowlock:', MD5(DATABASE()), ':', p_number));
END//

-- A grant or a ticket that was killed half-way has left its lock to the session: that of the number which
-- the session drew last, if no row is there for it. No handler could have given it back: between two
-- statements none is asked.
CREATE OR REPLACE PROCEDURE rowlock_unmark_lost()
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE v_last BIGINT;
    DECLARE v_rows INT;

    CALL rowlock_alone();
    SELECT LASTVAL(rowlock_token) INTO v_last;      -- NULL: it has drawn none
    IF IS_USED_LOCK(CONCAT('rowlock:', MD5(DATABASE()), ':', v_last)) = CONNECTION_ID() THEN
        SELECT (SELECT count(*) FROM rowlock_lease WHERE token = v_last)
             + (SELECT count(*) FROM rowlock_waiter WHERE ticket = v_last) INTO v_rows;
        COMMIT AND NO CHAIN NO RELEASE;
        IF v_rows = 0 THEN
            DO RELEASE_LOCK(CONCAT('rowlock:', MD5(DATABASE()), ':', v_last));
        END IF;
    END IF;
END//

-- start: when the server was started, in seconds, as UUID_SHORT() has it: numbers of sessions begin
-- anew with a server.
CREATE OR REPLACE PROCEDURE rowlock_session()
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    SELECT CONNECTION_ID() AS number, UUID_SHORT() DIV 16777216 AS start;
END//

-- A user may end his own sessions. KILL returns before the session is gone and its locks with it.
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

-- ---- who holds, who waits ------------------------------------------------------------------------------

-- For rowlock_list; people have rowlock_holders and rowlock_waiters. Expired leases and dead waiters are
-- left out. From within rowlock's database only: the names of
-- session locks hold its name.
CREATE OR REPLACE SQL SECURITY INVOKER VIEW rowlock_listed AS
    SELECT 'held' AS state, l.name, MAX(l.mode) AS mode, l.token, 0 AS ticket, MAX(l.owner) AS owner,
           MAX(l.host) AS host, MAX(l.pid) AS pid, MAX(l.command) AS command, MAX(l.note) AS note,
           TIMESTAMPDIFF(MICROSECOND, '1970-01-01', MAX(l.acquired)) DIV 1000 AS since_ms,
           TIMESTAMPDIFF(MICROSECOND, '1970-01-01', MAX(b.expires)) DIV 1000 AS expires_ms,
           TIMESTAMPDIFF(MICROSECOND, utc_timestamp(6), MAX(b.expires)) DIV 1000 AS left_ms,
           MAX(l.`limit`) AS `limit`, IF(MAX(l.mode) = 'permit', count(*), NULL) AS `count`,
           MAX(b.stop) AS stop
      FROM rowlock_lease l JOIN rowlock_beat b ON b.token = l.token
     WHERE b.expires > utc_timestamp(6)
     GROUP BY l.token, l.name
    UNION ALL
    SELECT 'waiting', w.name, w.mode, 0, w.ticket,
           w.owner, w.host, w.pid, w.command, w.note,
           TIMESTAMPDIFF(MICROSECOND, '1970-01-01', w.since) DIV 1000, NULL, NULL,
           w.`limit`, IF(w.mode = 'permit', w.`count`, NULL), 0
      FROM rowlock_waiter w
     WHERE IF(w.seen IS NULL, NOT IS_FREE_LOCK(CONCAT('rowlock:', MD5(DATABASE()), ':', w.ticket)),
              w.seen > utc_timestamp(6))//

-- Also the transactions that have a name locked, where somebody else waits for the row and the caller
-- may see it (privilege PROCESS).
CREATE OR REPLACE PROCEDURE rowlock_list(IN p_name VARBINARY(255))
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE EXIT HANDLER FOR 1227
        SELECT * FROM rowlock_listed WHERE p_name IS NULL OR name = p_name
         ORDER BY state, name, ticket, token;

    IF @rowlock_idle IS NOT NULL THEN
        CALL rowlock_idle_back();
    END IF;
    IF p_name IS NULL THEN
        SELECT h.* FROM (
            SELECT * FROM rowlock_listed
            UNION ALL
            SELECT 'transaction', UNHEX(SUBSTRING(k.lock_data, 3)),
                   IF(k.lock_mode LIKE 'S%', 'shared', 'exclusive'), 0, 0, NULL,
                   SUBSTRING_INDEX(p.host, ':', 1), NULLIF(t.trx_mysql_thread_id, 0),
                   IF(t.trx_mysql_thread_id = 0, 'prepared transaction (see XA RECOVER)', p.user), NULL,
                   TIMESTAMPDIFF(MICROSECOND, '1970-01-01',
                                 CONVERT_TZ(t.trx_started, 'SYSTEM', '+00:00')) DIV 1000,
                   NULL, NULL, NULL, NULL, 0
              FROM information_schema.innodb_locks k
              JOIN information_schema.innodb_trx t
                ON t.trx_id = k.lock_trx_id AND t.trx_state <> 'LOCK WAIT'
              LEFT JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id
             WHERE k.lock_table = CONCAT('`', REPLACE(DATABASE(), '`', '``'), '`.`rowlock_name`')
               AND k.lock_data LIKE '0x%'       -- a name; else a gap
             GROUP BY t.trx_mysql_thread_id, k.lock_data, k.lock_mode, p.host, p.user, t.trx_started
        ) h ORDER BY h.state, h.name, h.ticket, h.token;
    ELSE
        SELECT h.* FROM (
            SELECT * FROM rowlock_listed WHERE name = p_name
            UNION ALL
            SELECT 'transaction', p_name, IF(k.lock_mode LIKE 'S%', 'shared', 'exclusive'), 0, 0, NULL,
                   SUBSTRING_INDEX(p.host, ':', 1), NULLIF(t.trx_mysql_thread_id, 0),
                   IF(t.trx_mysql_thread_id = 0, 'prepared transaction (see XA RECOVER)', p.user), NULL,
                   TIMESTAMPDIFF(MICROSECOND, '1970-01-01',
                                 CONVERT_TZ(t.trx_started, 'SYSTEM', '+00:00')) DIV 1000,
                   NULL, NULL, NULL, NULL, 0
              FROM information_schema.innodb_locks k
              JOIN information_schema.innodb_trx t
                ON t.trx_id = k.lock_trx_id AND t.trx_state <> 'LOCK WAIT'
              LEFT JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id
             WHERE k.lock_table = CONCAT('`', REPLACE(DATABASE(), '`', '``'), '`.`rowlock_name`')
               AND k.lock_data = CONCAT('0x', LOWER(HEX(p_name)))
             GROUP BY t.trx_mysql_thread_id, k.lock_mode, p.host, p.user, t.trx_started
        ) h ORDER BY h.state, h.ticket, h.token;
    END IF;
END//

-- InnoDB tells of a lock only while somebody waits for it. So whether a transaction has the name is tried,
-- and taken back at once: in that moment another's try is refused. It is no lock to be relied upon.
CREATE OR REPLACE PROCEDURE rowlock_probe(IN p_name VARBINARY(255))
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_exclusive, v_shared TINYINT DEFAULT 0;
    DECLARE v_technique VARCHAR(16) CHARACTER SET utf8mb4;
    DECLARE v_detail VARCHAR(400) CHARACTER SET utf8mb4;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        ROLLBACK AND NO CHAIN NO RELEASE;
        RESIGNAL;
    END;

    IF NOT (@@in_transaction OR @@read_only OR @@wsrep_on) THEN
        SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
        SELECT technique INTO v_technique FROM rowlock_meta;
        COMMIT AND NO CHAIN NO RELEASE;         -- what was read, where autocommit is off
        START TRANSACTION READ WRITE;
        CALL rowlock_take(p_name, 0, 0, v_exclusive, v_detail);
        IF v_exclusive = 1 AND v_technique <> 'insert' THEN
            CALL rowlock_take(p_name, 1, 0, v_shared, v_detail);
        END IF;
        ROLLBACK AND NO CHAIN NO RELEASE;
    END IF;
    SELECT CASE WHEN v_exclusive <> 1 THEN NULL
                WHEN v_technique = 'insert' OR v_shared = 1 THEN 'exclusive' ELSE 'shared' END AS mode;
END//

DELIMITER ;

SET SESSION sql_mode = @rowlock_sql_mode;
