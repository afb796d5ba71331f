-- rowlock on MariaDB, leases: grant, renewal, release, break and fence. Run install.sql and
-- history.sql first, then queue.sql and one technique.
--
-- Procedures without a comment of their own have the parameters and answers of the statements of
-- the same name in src/dialect/dialect.h. Lease wants: HEX(name):mode:limit:count, separated by
-- commas, mode x, s or p. Only the fence runs in a transaction of the caller.
--
-- The rules: a lease exists as long as its row exists; the clock only decides which leases may be
-- swept. A grant holds the name lock from its check to its COMMIT. A sweep is a short transaction
-- without the name lock, so that no session waits for a fence while it holds a name lock.

{own_mode};

-- ---- tables -------------------------------------------------------------------------------------

-- Waiters for a lease: one row per name; all of one call have one ticket. While alive_until is
-- NULL, the session lock of the ticket shows whether the waiter lives; otherwise the waiter counts
-- as alive until that time (UTC). roll_call is the number of the roll call that the waiter has not
-- answered (see rowlock_overtake).
CREATE TABLE IF NOT EXISTS rowlock_waiter (
    ticket   BIGINT NOT NULL,
    name     VARBINARY(255) NOT NULL,
    mode     ENUM ('exclusive', 'shared', 'permit') NOT NULL,
    `limit`  INT NULL,
    `count`  INT NOT NULL DEFAULT 1,
    owner    VARBINARY(255) NOT NULL,
    host     VARCHAR(255) NULL,
    pid      BIGINT NULL,
    command  VARCHAR(255) NULL,
    note     VARCHAR(1024) NULL,
    since    DATETIME(6) NOT NULL,    -- UTC
    alive_until DATETIME(6) NULL,        -- UTC
    roll_call BIGINT NULL,
    PRIMARY KEY (ticket, name),
    KEY rowlock_waiter_name (name, ticket),
    KEY rowlock_waiter_owner (owner)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Tokens and tickets. Each draw lifts the sequence to the clock, so that a restored dump does not
-- set it back.
CREATE SEQUENCE IF NOT EXISTS rowlock_token ENGINE = InnoDB;

DELIMITER //

-- ---- small parts --------------------------------------------------------------------------------

-- Draws the next number, greater than every earlier one. Anything that sets the sequence back (a
-- restored dump, a replica that lagged) takes longer than 10 ms, and numbers are drawn less often
-- than one per microsecond. So a sequence less than 10 ms behind the microseconds since 1970 was
-- not set back, and any other is lifted to them. SETVAL takes only a literal, and never goes back.
-- The draw waits neither for other sessions nor for the disk: the COMMIT that publishes a number
-- writes it too.
-- The number is odd, and greater than p_least: see rowlock_name.
CREATE OR REPLACE PROCEDURE rowlock_draw(IN p_least BIGINT, OUT p_number BIGINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_clock BIGINT;

    SELECT NEXTVAL(rowlock_token) INTO p_number;
    -- read after NEXTVAL, which may have waited for the sequence
    SET v_clock = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', utc_timestamp(6));
    IF p_number < v_clock - 10000 OR p_number <= p_least THEN
        EXECUTE IMMEDIATE CONCAT('DO SETVAL(rowlock_token, ', GREATEST(v_clock, p_least), ')');
        SELECT NEXTVAL(rowlock_token) INTO p_number;
    END IF;
    WHILE p_number MOD 2 = 0 DO
        SELECT NEXTVAL(rowlock_token) INTO p_number;
    END WHILE;
    SET @rowlock_drawn = p_number;              -- see rowlock_session_unlock_lost
END//

CREATE OR REPLACE PROCEDURE rowlock_require_no_transaction()
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    IF @@in_transaction THEN
        SIGNAL SQLSTATE 'RL007' SET MYSQL_ERRNO = 30007, MESSAGE_TEXT =
            'rowlock: a lease needs a transaction of its own, but one is open: COMMIT or ROLLBACK '
            'first';
    END IF;
    {check_session}; -- a grant that waited has left a limit: see below
    CALL rowlock_real_time();
    SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
END//

-- A client that freezes between the answer of a grant that waited and its COMMIT would keep the
-- name lock, so the server ends its session after 2 s. No setting ends with the transaction: the
-- next rowlock procedure on the session restores it. Behind a pooler that could be another session,
-- and the next client would get the limit: so the limit is set only where the session belongs to
-- the client.
CREATE OR REPLACE PROCEDURE rowlock_set_idle_limit()
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    IF @rowlock_idle IS NULL AND @@idle_write_transaction_timeout NOT BETWEEN 1 AND 2 THEN
        SET @rowlock_idle = @@idle_write_transaction_timeout;
        SET SESSION idle_write_transaction_timeout = 2;
    END IF;
END//

CREATE OR REPLACE PROCEDURE rowlock_restore_idle_limit()
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    SET SESSION idle_write_transaction_timeout = @rowlock_idle;
    SET @rowlock_idle = NULL;
END//

-- Raises the error of an interrupt if p_answer is NULL: then the read that should have set it was
-- interrupted without an error.
CREATE OR REPLACE PROCEDURE rowlock_check_answer(IN p_answer BIGINT)
    SQL SECURITY INVOKER NO SQL
BEGIN
    IF p_answer IS NULL THEN
        SIGNAL SQLSTATE '70100'
            SET MYSQL_ERRNO = 1317, MESSAGE_TEXT = 'rowlock: the statement was interrupted';
    END IF;
END//

-- Removes the first lease want from p_rest.
CREATE OR REPLACE PROCEDURE rowlock_next_lease_want(
    INOUT p_rest LONGTEXT CHARACTER SET ascii,
    OUT p_name VARBINARY(255), OUT p_mode CHAR(1) CHARACTER SET ascii, OUT p_limit INT,
    OUT p_count INT)
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE v_want LONGTEXT CHARACTER SET ascii;

    SET v_want = SUBSTRING_INDEX(p_rest, ',', 1);
    SET p_rest = SUBSTRING(p_rest, LENGTH(v_want) + 2);
    SET p_name = UNHEX(SUBSTRING_INDEX(v_want, ':', 1));
    SET p_mode = SUBSTRING_INDEX(SUBSTRING_INDEX(v_want, ':', 2), ':', -1);
    SET p_limit = SUBSTRING_INDEX(SUBSTRING_INDEX(v_want, ':', 3), ':', -1);
    SET p_count = SUBSTRING_INDEX(v_want, ':', -1);
END//

-- Finds the conflicts of one want. p_live, p_expired: the token of a conflicting lease, 0: none;
-- p_live is the first to expire. p_other: another limit that is in force, of a lease (p_clash 0) or
-- of the ticket p_clash. With p_ticket 0 every ticket counts, otherwise those ahead of it.
CREATE OR REPLACE PROCEDURE rowlock_find_conflict(
    IN p_name VARBINARY(255), IN p_mode CHAR(1) CHARACTER SET ascii, IN p_limit INT,
    IN p_count INT, IN p_ticket BIGINT,
    OUT p_live BIGINT, OUT p_expires DATETIME(6), OUT p_expired BIGINT,
    OUT p_other INT, OUT p_clash BIGINT)
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE v_all, v_row, v_live INT;           -- NULL: no answer, which never counts as free
    DECLARE v_now DATETIME(6) DEFAULT utc_timestamp(6);
    DECLARE v_permits TINYINT DEFAULT 1;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;

    SET p_live = 0, p_expires = NULL, p_expired = 0, p_other = NULL, p_clash = 0;
    IF p_mode = 'p' THEN
        SELECT count(*), COALESCE(SUM(b.expires > v_now), 0) INTO v_all, v_live
          FROM rowlock_lease l LEFT JOIN rowlock_heartbeat b ON b.token = l.token
         WHERE l.name = p_name AND l.mode = 'permit';
        IF v_all > 0 THEN
            SELECT l.`limit` INTO p_other FROM rowlock_lease l JOIN rowlock_heartbeat b
                ON b.token = l.token
             WHERE l.name = p_name AND l.mode = 'permit' AND l.`limit` <> p_limit
               AND b.expires > v_now LIMIT 1;
        END IF;
        IF p_other IS NULL THEN
            SELECT `limit`, ticket INTO p_other, p_clash FROM rowlock_waiter
             WHERE name = p_name AND mode = 'permit' AND `limit` <> p_limit
               AND (p_ticket = 0 OR ticket < p_ticket) LIMIT 1;
        END IF;
        -- 0: the permits do not conflict
        SET v_permits = COALESCE(v_all + p_count > p_limit, 1);
    END IF;
    SET v_all = NULL;
    SELECT count(*) INTO v_row FROM rowlock_name WHERE name = p_name AND held = 1;
    SELECT count(*) INTO v_all FROM rowlock_lease
     WHERE name = p_name
       AND NOT (p_mode = 's' AND mode = 'shared'
                OR v_permits = 0 AND mode = 'permit' AND `limit` = p_limit);
    SET v_all = v_all + v_row;
    IF v_all IS NULL OR v_all > 0 THEN
        IF p_mode = 'p' AND v_live + p_count <= p_limit THEN
            -- the expired ones conflict: sweeping them helps
            SET v_permits = 0;
        END IF;
        SELECT l.token, l.expires INTO p_live, p_expires
          FROM rowlock_held l
         WHERE l.name = p_name AND l.expires > v_now
           AND NOT (p_mode = 's' AND l.mode = 'shared'
                    OR v_permits = 0 AND l.mode = 'permit' AND l.`limit` = p_limit)
         ORDER BY l.expires, l.token LIMIT 1;
        IF p_live = 0 THEN
            SELECT l.token INTO p_expired
              FROM rowlock_held l
             WHERE l.name = p_name AND (l.expires IS NULL OR l.expires <= v_now)
               AND NOT (p_mode = 's' AND l.mode = 'shared')
             ORDER BY l.token LIMIT 1;
            SET p_expired = IF(p_expired = 0, -1, p_expired);   -- renewed between the two reads
        END IF;
    END IF;
END//

-- The same for all wants: the live lease that expires first, or any expired one if none is live.
-- p_name: the name of that lease or limit.
CREATE OR REPLACE PROCEDURE rowlock_find_conflicts(
    IN p_wants LONGTEXT CHARACTER SET ascii, IN p_ticket BIGINT,
    OUT p_live BIGINT, OUT p_expires DATETIME(6), OUT p_expired BIGINT, OUT p_clash BIGINT,
    OUT p_name VARBINARY(255), OUT p_detail VARCHAR(400) CHARACTER SET utf8mb4)
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    {lease_want};
    DECLARE v_other INT;
    DECLARE v_live, v_expired BIGINT;
    DECLARE v_expires DATETIME(6);

    SET p_live = 0, p_expires = NULL, p_expired = 0, p_clash = 0, p_name = NULL, p_detail = NULL;
    WHILE p_wants <> '' AND p_detail IS NULL DO
        CALL rowlock_next_lease_want(p_wants, v_name, v_mode, v_limit, v_count);
        CALL rowlock_find_conflict(v_name, v_mode, v_limit, v_count, p_ticket,
                                 v_live, v_expires, v_expired, v_other, p_clash);
        IF v_other IS NOT NULL THEN
            SET p_name = v_name;
            SET p_detail = CONCAT('it is ', IF(p_clash = 0, 'held', 'waited for'), ' with limit ',
                                  v_other, ', but limit ', v_limit, ' was requested');
        ELSEIF v_live <> 0 AND (p_live = 0 OR v_expires < p_expires) THEN
            SET p_live = v_live, p_expires = v_expires, p_name = v_name;
        ELSEIF v_expired <> 0 AND p_live = 0 THEN
            SET p_expired = v_expired, p_name = v_name;
        END IF;
    END WHILE;
END//

-- Finds the last and the first ticket ahead of p_ticket (0: all) for these names, and how many are
-- ahead. It reads at most 17 backwards: a waiter far behind needs no exact position, and a look
-- behind a thousand waiters costs as much as behind 17. With name = v_name the server may begin at
-- the end of the name and read everyone behind too. p_before NULL: no answer.
CREATE OR REPLACE PROCEDURE rowlock_queue(
    IN p_wants LONGTEXT CHARACTER SET ascii, IN p_ticket BIGINT,
    OUT p_before INT, OUT p_last BIGINT, OUT p_first BIGINT)
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    {lease_want};
    DECLARE v_before INT;
    DECLARE v_last, v_first BIGINT;
    DECLARE v_end BIGINT DEFAULT IF(p_ticket = 0, 9223372036854775807, p_ticket);

    SET p_before = 0, p_last = 0, p_first = 0;
    WHILE p_wants <> '' AND p_before IS NOT NULL DO
        CALL rowlock_next_lease_want(p_wants, v_name, v_mode, v_limit, v_count);
        SET v_before = NULL;
        SELECT count(*), MAX(w.ticket),
               (SELECT MIN(ticket) FROM rowlock_waiter WHERE name = v_name)
          INTO v_before, v_last, v_first
          FROM (SELECT ticket FROM rowlock_waiter FORCE INDEX (rowlock_waiter_name)
                 WHERE name BETWEEN v_name AND v_name AND ticket < v_end
                 ORDER BY name DESC, ticket DESC LIMIT 17) w;
        IF v_before IS NULL THEN
            SET p_before = NULL;
        ELSEIF v_before > 0 THEN
            SET p_before = GREATEST(p_before, v_before), p_last = GREATEST(p_last, v_last),
                p_first = IF(p_first = 0, v_first, LEAST(p_first, v_first));
        END IF;
    END WHILE;
END//

-- Sweeps the expired leases that conflict with the wants, each in a short transaction.
CREATE OR REPLACE PROCEDURE rowlock_sweep_leases(IN p_wants LONGTEXT CHARACTER SET ascii)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    {lease_want};
    DECLARE v_token BIGINT;

    WHILE p_wants <> '' DO
        CALL rowlock_next_lease_want(p_wants, v_name, v_mode, v_limit, v_count);
        SET v_token = 0;
        tokens: LOOP
            SELECT MIN(l.token) INTO v_token
              FROM rowlock_held l
             WHERE l.name = v_name AND (l.expires IS NULL OR l.expires <= utc_timestamp(6))
               AND NOT (v_mode = 's' AND l.mode = 'shared') AND l.token > v_token;
            IF v_token IS NULL THEN
                LEAVE tokens;
            END IF;
            IF NOT @@autocommit THEN
                COMMIT AND NO CHAIN NO RELEASE;  -- ends the read
            END IF;
            CALL rowlock_sweep(v_token);
        END LOOP;
    END WHILE;
END//

-- ---- grant --------------------------------------------------------------------------------------

CREATE OR REPLACE PROCEDURE rowlock_ensure_leases(IN p_wants LONGTEXT CHARACTER SET ascii)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    {lease_want};

    WHILE p_wants <> '' DO
        CALL rowlock_next_lease_want(p_wants, v_name, v_mode, v_limit, v_count);
        CALL rowlock_ensure(v_name);
    END WHILE;
END//

-- Takes the name locks of all wants, in their order: shared where the technique and the mode allow
-- it. While `many` is 0, grant_free looks only at that: so the shared lease that sets it locks the
-- row alone. With a shared name lock it locks the owner too, because an earlier call of that owner,
-- whose reply was lost, may still be about to commit. p_end NULL: no limit; p_try: does not wait.
-- p_status as rowlock_name_lock; NULL: the row has changed, begin again.
CREATE OR REPLACE PROCEDURE rowlock_name_lock_all(
    IN p_wants LONGTEXT CHARACTER SET ascii, IN p_owner VARBINARY(255), IN p_try TINYINT,
    IN p_end DATETIME(6), OUT p_status TINYINT, OUT p_name VARBINARY(255),
    OUT p_detail VARCHAR(400) CHARACTER SET utf8mb4)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_mode CHAR(1) CHARACTER SET ascii;
    DECLARE v_limit, v_count, v_seconds INT;
    DECLARE v_key BIGINT;
    DECLARE v_many, v_alone TINYINT;
    DECLARE v_technique VARCHAR(16) CHARACTER SET utf8mb4;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;

    SELECT technique INTO v_technique FROM rowlock_meta;
    SET p_status = 0;
    WHILE p_wants <> '' AND p_status = 0 DO
        CALL rowlock_next_lease_want(p_wants, p_name, v_mode, v_limit, v_count);
        SET v_seconds = CASE WHEN p_try THEN 0 WHEN p_end IS NULL THEN 100000000
            ELSE GREATEST(CEILING(TIMESTAMPDIFF(MICROSECOND, utc_timestamp(6), p_end) / 1000000),
                          1) END;
        IF v_mode = 's' AND v_technique <> 'insert' AND p_owner IS NOT NULL THEN
            BEGIN
                DECLARE EXIT HANDLER FOR 1205
                BEGIN
                    IF v_seconds > 0 THEN
                        RESIGNAL;
                    END IF;
                    SET p_status = 1;
                END;

                {lock_owner p_owner};
            END;
            SET p_owner = NULL;
        END IF;
        SET v_many = NULL;
        IF v_mode = 's' AND v_technique = 'row' THEN
            SELECT many INTO v_many FROM rowlock_name WHERE name = p_name;
        END IF;
        SET v_alone = COALESCE(v_many, 0) = 0;
        IF p_status = 0 THEN
            CALL rowlock_name_lock(p_name, NOT v_alone, v_seconds, p_status, p_detail);
        END IF;
        IF p_status = 0 AND NOT v_alone THEN
            SET v_many = NULL;
            SELECT many INTO v_many FROM rowlock_name WHERE name = p_name;
            SET p_status = IF(v_many > 0, 0, NULL);
        END IF;
    END WHILE;
END//

-- Renews the lease that an earlier attempt of this call acquired, when its reply was lost. Ends it
-- instead (p_adopted 0) if it was broken since.
CREATE OR REPLACE PROCEDURE rowlock_adopt_own(
    IN p_token BIGINT, IN p_name VARBINARY(255), IN p_ttl_ms BIGINT, OUT p_adopted TINYINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_there INT;
    DECLARE v_expires DATETIME(6);
    DECLARE v_stop TINYINT;

    CALL rowlock_set_end(p_token, p_name, {after p_ttl_ms}, 1, v_there);
    SELECT count(*) > 0 INTO p_adopted FROM rowlock_held
     WHERE token = p_token AND name = p_name AND stop = 0;
    IF NOT p_adopted THEN
        CALL rowlock_seize(p_token, p_name, v_there, v_expires, v_stop);
        CALL rowlock_drop(p_token, p_name);
    END IF;
END//

-- Decides on a grant, under the name locks: 0 grant it, or it was granted before (p_token <> 0); 3,
-- 11, 12, 13 as in the answer; 4 a lease must be swept. After 11 and 13 the ticket p_number may be
-- dead.
CREATE OR REPLACE PROCEDURE rowlock_decide_grant(
    IN p_wants LONGTEXT CHARACTER SET ascii, IN p_owner VARBINARY(255), IN p_ttl_ms BIGINT,
    IN p_ticket BIGINT,
    OUT p_status TINYINT, OUT p_name VARBINARY(255), OUT p_token BIGINT, OUT p_number BIGINT,
    OUT p_detail VARCHAR(400) CHARACTER SET utf8mb4)
    SQL SECURITY INVOKER MODIFIES SQL DATA
whole: BEGIN
    DECLARE v_live, v_expired, v_clash, v_last, v_first BIGINT;
    DECLARE v_expires DATETIME(6);
    DECLARE v_before, v_mine INT;
    DECLARE v_adopted TINYINT;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;

    SET p_status = 0, p_token = 0, p_number = 0;
    SELECT token INTO p_token FROM rowlock_held
     WHERE name = UNHEX(SUBSTRING_INDEX(p_wants, ':', 1)) AND owner = p_owner LIMIT 1;
    IF p_token <> 0 THEN
        CALL rowlock_adopt_own(p_token, UNHEX(SUBSTRING_INDEX(p_wants, ':', 1)), p_ttl_ms,
                               v_adopted);
        IF v_adopted THEN
            LEAVE whole;
        END IF;
        SET p_token = 0;
    END IF;
    IF p_ticket <> 0 THEN
        SELECT count(*) INTO v_mine FROM rowlock_waiter WHERE ticket = p_ticket;
        IF v_mine IS NULL OR v_mine = 0 THEN
            SET p_status = 12;
            LEAVE whole;
        END IF;
    END IF;
    CALL rowlock_find_conflicts(p_wants, p_ticket, v_live, v_expires, v_expired, v_clash, p_name,
                                p_detail);
    IF p_detail IS NOT NULL THEN
        SET p_status = 13, p_number = v_clash;
        LEAVE whole;
    END IF;
    IF v_live <> 0 THEN
        SET p_status = 3, p_number = v_live;
        LEAVE whole;
    END IF;
    CALL rowlock_queue(p_wants, p_ticket, v_before, v_last, v_first);
    IF v_before IS NULL OR v_before > 0 THEN
        SET p_status = 11, p_number = COALESCE(v_last, 0);
    ELSEIF v_expired <> 0 THEN
        SET p_status = 4, p_number = v_expired;
    END IF;
END//

-- Grants the one name of a want exclusively, in its row, which is locked and free. No row of
-- rowlock_lease has the name. The token is computed under that lock. Another name may have the same
-- number at the same time (1062): then it is the next one. That of a run has no number of another
-- run, because rowlock_finish has the token alone.
CREATE OR REPLACE PROCEDURE rowlock_grant_row(
    IN p_name VARBINARY(255), IN p_owner VARBINARY(255), IN p_ttl_ms BIGINT, IN p_waited BIGINT,
    IN p_quiet_until DATETIME(6), IN p_host VARCHAR(255) CHARACTER SET utf8mb4, IN p_pid BIGINT,
    IN p_command VARCHAR(255) CHARACTER SET utf8mb4, IN p_note VARCHAR(1024) CHARACTER SET utf8mb4,
    OUT p_token BIGINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_rows, v_runs INT DEFAULT 0;
    DECLARE v_more BIGINT DEFAULT 0;
    DECLARE CONTINUE HANDLER FOR 1062 SET v_rows = 0;

    REPEAT
        SET p_token = NULL;
        SELECT v_more + {next_token} INTO p_token FROM rowlock_name WHERE name = p_name;
        CALL rowlock_check_answer(p_token);
        IF LEFT(p_name, 4) = 'job:' THEN
            SELECT count(*) INTO v_runs FROM rowlock_run WHERE token = p_token;
        END IF;
        UPDATE rowlock_name FORCE INDEX (PRIMARY)
           SET token = p_token, held = 1, stop = 0, many = IF(many = 2, 2, 0), marked = 0,
               expires = {after p_ttl_ms}, quiet_until = p_quiet_until,
               acquired = utc_timestamp(6), waited = p_waited, owner = p_owner, host = p_host,
               pid = p_pid, command = p_command, note = p_note
         WHERE name = p_name AND held = 0 AND v_runs = 0;
        SET v_rows = ROW_COUNT(), v_more = v_more + 2;
    UNTIL v_rows > 0 OR v_more > 100 END REPEAT;
    IF v_rows <= 0 THEN
        SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213, MESSAGE_TEXT =
            'rowlock: the grant was interrupted: try again';
    END IF;
    SET @rowlock_drawn = p_token;               -- see rowlock_session_unlock_lost
END//

-- Reads the clock in a statement that begins after the name locks were taken.
CREATE OR REPLACE PROCEDURE rowlock_insert_lease(
    IN p_wants LONGTEXT CHARACTER SET ascii, IN p_owner VARBINARY(255), IN p_ttl_ms BIGINT,
    IN p_ticket BIGINT, IN p_session BIGINT,
    IN p_host VARCHAR(255) CHARACTER SET utf8mb4, IN p_pid BIGINT,
    IN p_command VARCHAR(255) CHARACTER SET utf8mb4, IN p_note VARCHAR(1024) CHARACTER SET utf8mb4,
    OUT p_token BIGINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    {lease_want};
    DECLARE v_rest LONGTEXT CHARACTER SET ascii DEFAULT p_wants;
    DECLARE v_waited, v_least BIGINT DEFAULT 0;
    DECLARE v_former BIGINT;
    DECLARE v_quiet_until DATETIME(6) DEFAULT '1970-01-01';    -- for a killed read
    DECLARE v_technique, v_history VARCHAR(16) CHARACTER SET utf8mb4;
    DECLARE v_many, v_mark TINYINT;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;

    IF p_ticket <> 0 THEN
        SELECT TIMESTAMPDIFF(MICROSECOND, MIN(since), utc_timestamp(6)) DIV 1000 INTO v_waited
          FROM rowlock_waiter WHERE ticket = p_ticket;
        SET v_waited = GREATEST(COALESCE(v_waited, 0), 0);
    END IF;
    SELECT technique, history INTO v_technique, v_history FROM rowlock_meta;
    IF v_waited < 1000 THEN
        SET v_quiet_until = COALESCE(CASE v_history WHEN 'all' THEN '1970-01-01'
            WHEN 'slow' THEN utc_timestamp(6) + INTERVAL 10 SECOND
            ELSE '9999-12-31' END, '1970-01-01');
    END IF;
    CALL rowlock_next_lease_want(v_rest, v_name, v_mode, v_limit, v_count);
    IF v_technique = 'row' AND v_rest = '' AND v_mode = 'x' THEN
        SET v_many = 1;
        SELECT many INTO v_many FROM rowlock_name WHERE name = v_name;
        IF v_many > 0 THEN                      -- its other leases had drawn tokens
            CALL rowlock_draw(0, v_least);
            UPDATE rowlock_name FORCE INDEX (PRIMARY) SET least = v_least WHERE name = v_name;
        END IF;
        CALL rowlock_grant_row(v_name, p_owner, p_ttl_ms, v_waited, v_quiet_until, p_host, p_pid,
                               p_command, p_note, p_token);
    ELSE
        SET v_rest = p_wants;
        WHILE v_technique = 'row' AND v_rest <> '' DO
            CALL rowlock_next_lease_want(v_rest, v_name, v_mode, v_limit, v_count);
            SET v_former = NULL;
            SELECT GREATEST(COALESCE(token, 0), least) INTO v_former
              FROM rowlock_name WHERE name = v_name;
            CALL rowlock_check_answer(v_former);
            SET v_least = GREATEST(v_least, v_former);
        END WHILE;
        CALL rowlock_draw(v_least, p_token);
        SET v_rest = p_wants;
        WHILE v_rest <> '' DO
            CALL rowlock_next_lease_want(v_rest, v_name, v_mode, v_limit, v_count);
            IF v_technique = 'row' THEN
                SET v_mark = IF(v_mode = 's', 2, 1);
                SET v_many = NULL;              -- a killed statement may do nothing
                SELECT many INTO v_many FROM rowlock_name WHERE name = v_name;
                IF v_many < v_mark THEN         -- 1: others may have locked the row to share
                    SET v_many = NULL;
                    SELECT many INTO v_many FROM rowlock_name WHERE name = v_name
                       FOR UPDATE SKIP LOCKED;
                    IF v_many IS NOT NULL THEN
                        UPDATE rowlock_name FORCE INDEX (PRIMARY) SET many = v_mark
                         WHERE name = v_name;
                    END IF;
                    SET v_many = NULL;
                    SELECT many INTO v_many FROM rowlock_name WHERE name = v_name;
                END IF;
                IF NOT COALESCE(v_many > 0, 0) THEN
                    SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213, MESSAGE_TEXT =
                        'rowlock: the grant was interrupted: try again';
                END IF;
            END IF;
            SET v_count = IF(v_mode = 'p', v_count, 1);
            WHILE v_count > 0 DO
                SET v_count = v_count - 1;
                INSERT INTO rowlock_lease (token, name, n, mode, `limit`, owner, host, pid,
                                           command, note, acquired, waited)
                    VALUES (p_token, v_name, v_count, FIELD(v_mode, 'x', 's', 'p'),
                            IF(v_mode = 'p', v_limit, NULL), p_owner, p_host, p_pid, p_command,
                            p_note, utc_timestamp(6), v_waited);
            END WHILE;
        END WHILE;
        INSERT INTO rowlock_heartbeat (token, expires, quiet_until)
            VALUES (p_token, {after p_ttl_ms}, v_quiet_until);
    END IF;
    IF p_ticket <> 0 THEN
        DELETE FROM rowlock_waiter WHERE ticket = p_ticket;
        IF ROW_COUNT() <= 0 THEN                -- removed meanwhile, or killed: see rowlock_drop
            DELETE FROM rowlock_waiter WHERE ticket = p_ticket;
        END IF;
    END IF;
    IF p_session = CONNECTION_ID() THEN
        DO GET_LOCK(CONCAT('rowlock:', MD5(DATABASE()), ':', p_token), 0);
    END IF;
END//

-- Makes one attempt in one transaction. p_status: NULL a deadlock; 2 and 7 as handler_refuses sets
-- them; 1, 5 and 6 as rowlock_name_lock; otherwise as rowlock_decide_grant. After 0 the transaction
-- is open.
CREATE OR REPLACE PROCEDURE rowlock_grant_once(
    IN p_wants LONGTEXT CHARACTER SET ascii, IN p_owner VARBINARY(255), IN p_ttl_ms BIGINT,
    IN p_try TINYINT, IN p_end DATETIME(6), IN p_ticket BIGINT, IN p_session BIGINT,
    IN p_host VARCHAR(255) CHARACTER SET utf8mb4, IN p_pid BIGINT,
    IN p_command VARCHAR(255) CHARACTER SET utf8mb4, IN p_note VARCHAR(1024) CHARACTER SET utf8mb4,
    OUT p_status TINYINT, OUT p_name VARBINARY(255), OUT p_token BIGINT, OUT p_number BIGINT,
    OUT p_detail VARCHAR(400) CHARACTER SET utf8mb4)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_row INT;
    DECLARE v_leased TINYINT;
    {handler_refuses};
    DECLARE EXIT HANDLER FOR 1213
    BEGIN
        ROLLBACK AND NO CHAIN NO RELEASE;
        SET p_status = NULL;
    END;
    {handler_rolls_back};

    SET p_token = 0, p_number = 0;
    START TRANSACTION READ WRITE;
    CALL rowlock_name_lock_all(p_wants, p_owner, p_try, p_end, p_status, p_name, p_detail);
    IF p_status = 5 AND p_try AND LOCATE(',', p_wants) = 0 THEN
        -- one COMMIT for the row and its lease
        CALL rowlock_insert_name(p_name, IF(p_wants LIKE '%:x:%', 0, 1), v_row);
        SET p_status = IF(v_row, 0, 5);
    END IF;
    IF p_status IN (0, 3) THEN
        SET v_leased = p_status = 3;            -- a row has a lease: not all are locked
        CALL rowlock_decide_grant(p_wants, p_owner, p_ttl_ms, p_ticket,
                           p_status, p_name, p_token, p_number, p_detail);
        IF v_leased AND p_status = 0 AND p_token = 0 THEN
            SET p_status = NULL;                -- it has ended meanwhile
        END IF;
    ELSEIF p_status = 1 THEN                    -- busy: a live lease is a better reason
        CALL rowlock_explain_busy(p_wants, p_ticket, p_status, p_name, p_number);
    END IF;
    IF p_status = 0 AND p_token = 0 THEN
        CALL rowlock_insert_lease(p_wants, p_owner, p_ttl_ms, p_ticket, p_session,
                                  p_host, p_pid, p_command, p_note, p_token);
    END IF;
    IF NOT p_status <=> 0 THEN
        ROLLBACK AND NO CHAIN NO RELEASE;
    END IF;
END//

-- Sets the status 3 if a live lease is the reason why the name lock was busy.
CREATE OR REPLACE PROCEDURE rowlock_explain_busy(
    IN p_wants LONGTEXT CHARACTER SET ascii, IN p_ticket BIGINT,
    INOUT p_status TINYINT, INOUT p_name VARBINARY(255), OUT p_number BIGINT)
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    {conflict};

    {find_conflicts p_wants, p_ticket};
    SET p_number = v_live;
    IF v_live <> 0 THEN
        SET p_status = 3, p_name = v_name;
    END IF;
END//

-- A wait of InnoDB takes a second at least, so a shorter wait is a try every 10 ms. No limit of the
-- whole statement ends it (LONG_MS in src/lease/execute.c).
CREATE OR REPLACE PROCEDURE rowlock_grant_answer(
    {grant_parameters LONGTEXT CHARACTER SET ascii},
    OUT p_status TINYINT, OUT p_name VARBINARY(255), OUT p_token BIGINT, OUT p_number BIGINT,
    OUT p_detail VARCHAR(400) CHARACTER SET utf8mb4)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_gone TINYINT;
    DECLARE v_swept BIGINT DEFAULT 0;
    DECLARE v_end DATETIME(6);

    CALL rowlock_require_no_transaction();
    IF p_wait_ms > 0 THEN
        SET v_end = {after LEAST(p_wait_ms, 31536000000)};
    END IF;
    again: LOOP
        CALL rowlock_grant_once(p_wants, p_owner, p_ttl_ms, p_wait_ms BETWEEN 0 AND 999, v_end,
                                p_ticket, p_session, p_host, p_pid, p_command, p_note,
                                p_status, p_name, p_token, p_number, p_detail);
        SET v_gone = 0;
        IF p_status IS NULL THEN
            -- two deadlock victims that retry together would collide again
            DO SLEEP(RAND() * 0.02);
        ELSEIF p_status = 1 AND utc_timestamp(6) < v_end THEN
            DO SLEEP(0.01);
        ELSEIF p_status = 5 THEN
            CALL rowlock_ensure_leases(p_wants);
        ELSEIF p_status = 4 AND p_number <> v_swept THEN
            SET v_swept = p_number;
            CALL rowlock_sweep_leases(p_wants);
        ELSEIF p_status = 11 OR (p_status = 13 AND p_number <> 0) THEN
            CALL rowlock_remove_dead(p_wants, p_ticket, p_number, v_gone);
            IF NOT v_gone THEN
                LEAVE again;
            END IF;
        ELSE
            LEAVE again;
        END IF;
    END LOOP;
    IF p_status = 0 AND p_wait_ms = 0 THEN
        COMMIT AND NO CHAIN NO RELEASE;
        IF p_ticket <> 0 THEN
            DO RELEASE_LOCK(CONCAT('rowlock:', MD5(DATABASE()), ':', p_ticket));
        END IF;
    ELSEIF p_status = 0 AND p_session = CONNECTION_ID() THEN
        CALL rowlock_set_idle_limit();
    END IF;
    SET p_status = IF(p_status = 4, 3, p_status), p_name = IF(p_status = 0, NULL, p_name);
END//

-- For the C library: the same as a result set. A try that finds a lease or a waiter is answered by
-- reads only: the next holder must not find the row locked by a caller that is about to queue.
CREATE OR REPLACE PROCEDURE rowlock_grant(
    {grant_parameters LONGTEXT CHARACTER SET ascii})
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_status TINYINT;
    DECLARE v_name, v_owner VARBINARY(255);
    DECLARE v_gone TINYINT;
    DECLARE v_token, v_number BIGINT DEFAULT 0;
    DECLARE v_detail VARCHAR(400) CHARACTER SET utf8mb4;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;

    IF p_wait_ms = 0 AND p_ticket = 0 AND RIGHT(p_wants, 6) = ':x:0:0'
       AND LOCATE(',', p_wants) = 0 THEN
        CALL rowlock_require_no_transaction();
        SET v_name = UNHEX(SUBSTRING_INDEX(p_wants, ':', 1));
        SELECT token, owner INTO v_number, v_owner FROM rowlock_name
         WHERE name = v_name AND held = 1 AND expires > utc_timestamp(6);
        IF v_number <> 0 THEN
            COMMIT AND NO CHAIN NO RELEASE;
            SET v_status = IF(v_owner <> p_owner, 3, NULL);
        ELSE
            SELECT COALESCE(MAX(ticket), 0) INTO v_number FROM rowlock_waiter
             WHERE name = v_name;
            COMMIT AND NO CHAIN NO RELEASE;
            IF v_number <> 0 THEN
                CALL rowlock_remove_dead(p_wants, 0, v_number, v_gone);
                SET v_status = IF(v_gone = 0, 11, NULL);
            END IF;
        END IF;
    END IF;
    IF v_status IS NULL THEN
        CALL rowlock_grant_answer(p_wants, p_owner, p_ttl_ms, p_wait_ms, p_ticket, p_session,
                                  p_host, p_pid, p_command, p_note, v_status, v_name, v_token,
                                  v_number, v_detail);
    END IF;
    SELECT v_status AS status, v_name AS name, v_token AS token, v_number AS number,
           v_detail AS detail;
END//

-- ---- keeping and ending -------------------------------------------------------------------------

-- Counts the rows of the token, and those of this name and owner (NULL: any). It is a plain read,
-- so that a renewal and a fence do not wait for each other. A killed read is an error.
CREATE OR REPLACE PROCEDURE rowlock_identify(
    IN p_token BIGINT, IN p_name VARBINARY(255), IN p_owner VARBINARY(255), OUT p_all INT,
        OUT p_own INT)
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;

    SELECT count(*), count(IF(name = p_name AND (p_owner IS NULL OR owner = p_owner), 1, NULL))
      INTO p_all, p_own FROM rowlock_held WHERE token = p_token;
    CALL rowlock_check_answer(p_own);
END//

-- Renews a lease. p_status: 0, 8 lost, 14 broken. The row counts, not the clock: while the row
-- exists, no other session holds the name. It never shortens a lease. A lease of another name or
-- owner counts as lost; p_name NULL: any.
CREATE OR REPLACE PROCEDURE rowlock_extend(
    IN p_token BIGINT, IN p_ttl_ms BIGINT, IN p_name VARBINARY(255), IN p_owner VARBINARY(255),
    OUT p_status TINYINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_stop TINYINT DEFAULT 0;
    DECLARE v_all, v_own INT;

    CALL rowlock_require_no_transaction();
    renewal: BEGIN
        DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_stop = -1;
        {handler_rolls_back};

        START TRANSACTION READ WRITE;
        IF p_name IS NOT NULL THEN
            CALL rowlock_identify(p_token, p_name, p_owner, v_all, v_own);
            IF v_own = 0 THEN
                SET v_stop = -1;
                COMMIT AND NO CHAIN NO RELEASE;
                LEAVE renewal;
            END IF;
        END IF;
        CALL rowlock_set_end(p_token, p_name, {after p_ttl_ms}, 1, v_own);
        IF v_own <= 0 THEN
            SET v_stop = -1;
            SELECT stop INTO v_stop FROM rowlock_held
             WHERE token = p_token AND (p_name IS NULL OR name = p_name) AND stop IS NOT NULL
             LIMIT 1;
            -- the clock went back, or the UPDATE was killed without an error: see rowlock_drop
            IF v_stop = 0 THEN
                CALL rowlock_set_end(p_token, p_name, {after p_ttl_ms}, 1, v_own);
            END IF;
        END IF;
        COMMIT AND NO CHAIN NO RELEASE;
    END;
    SET p_status = CASE v_stop WHEN 0 THEN 0 WHEN -1 THEN 8 ELSE 14 END;
END//

CREATE OR REPLACE PROCEDURE rowlock_renew_lease(
    IN p_token BIGINT, IN p_ttl_ms BIGINT, IN p_name VARBINARY(255), IN p_owner VARBINARY(255))
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_status TINYINT;

    CALL rowlock_extend(p_token, p_ttl_ms, p_name, p_owner, v_status);
    SELECT v_status AS number;
END//

-- Renews many leases in one transaction, and returns their tokens. Skips a lease whose row another
-- transaction has locked. p_leases: dialect.h, renew_all.
CREATE OR REPLACE PROCEDURE rowlock_renew_leases(
    IN p_leases LONGTEXT CHARACTER SET ascii, IN p_ttl_ms BIGINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_token BIGINT;
    DECLARE v_name, v_owner VARBINARY(255);
    DECLARE v_lease, v_rest LONGTEXT CHARACTER SET ascii DEFAULT p_leases;
    DECLARE v_renewed LONGTEXT CHARACTER SET ascii DEFAULT '';
    DECLARE v_free, v_own INT;

    CALL rowlock_require_no_transaction();
    BEGIN
        {handler_rolls_back};

        START TRANSACTION READ WRITE;
        WHILE v_rest <> '' DO
            SET v_lease = SUBSTRING_INDEX(v_rest, ',', 1);
            SET v_rest = SUBSTRING(v_rest, LENGTH(v_lease) + 2);
            SET v_token = SUBSTRING_INDEX(v_lease, ':', 1),
                v_name = UNHEX(SUBSTRING_INDEX(SUBSTRING_INDEX(v_lease, ':', 2), ':', -1)),
                v_owner = NULLIF(SUBSTRING_INDEX(v_lease, ':', -1), ''), v_free = 0;
            IF v_token MOD 2 = 0 THEN
                SELECT count(*) INTO v_free FROM rowlock_name FORCE INDEX (PRIMARY)
                 WHERE name = v_name AND token = v_token AND held = 1 AND stop = 0
                   AND (v_owner IS NULL OR owner = v_owner) FOR UPDATE SKIP LOCKED;
            ELSE
                SELECT count(*) INTO v_own FROM rowlock_lease
                 WHERE token = v_token AND name = v_name
                   AND (v_owner IS NULL OR owner = v_owner);
                IF v_own > 0 THEN
                    SELECT count(*) INTO v_free FROM rowlock_heartbeat
                     WHERE token = v_token AND stop = 0 FOR UPDATE SKIP LOCKED;
                END IF;
            END IF;
            IF v_free > 0 THEN                  -- as rowlock_set_end
                IF v_token MOD 2 = 0 THEN
                    UPDATE rowlock_name FORCE INDEX (PRIMARY)
                       SET expires = GREATEST(expires, {after p_ttl_ms})
                     WHERE name = v_name AND token = v_token;
                ELSE
                    UPDATE rowlock_heartbeat SET expires = GREATEST(expires, {after p_ttl_ms})
                     WHERE token = v_token;
                END IF;
                SET v_own = ROW_COUNT();
                IF v_own > 0 THEN       -- 0: as in rowlock_extend; it is renewed alone
                    SET v_renewed = CONCAT(v_renewed, IF(v_renewed = '', '', ','), v_token);
                END IF;
            END IF;
        END WHILE;
        COMMIT AND NO CHAIN NO RELEASE;
    END;
    SELECT t.token FROM JSON_TABLE(CONCAT('[', v_renewed, ']'), '$[*]' COLUMNS (
                            token BIGINT PATH '$')) t;
END//

-- Ends a lease, all of it or nothing. p_revoked: the history shows the lease as broken.
CREATE OR REPLACE PROCEDURE rowlock_end(
    IN p_token BIGINT, IN p_name VARBINARY(255), IN p_revoked TINYINT, OUT p_rows INT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_expires DATETIME(6);
    DECLARE v_stop TINYINT;

    again: LOOP
        BEGIN
            DECLARE EXIT HANDLER FOR 1213 ROLLBACK AND NO CHAIN NO RELEASE;
            {handler_rolls_back};

            START TRANSACTION READ WRITE;
            CALL rowlock_seize(p_token, p_name, p_rows, v_expires, v_stop);
            IF v_expires IS NOT NULL OR p_token = 0 THEN    -- 0: see rowlock_release_lease
                IF p_revoked THEN
                    CALL rowlock_set_stop(p_token, p_name, 1);
                END IF;
                {log rowlock_log_end(p_token, 1)};
            END IF;
            CALL rowlock_drop(p_token, p_name);
            COMMIT AND NO CHAIN NO RELEASE;
            LEAVE again;
        END;
        DO SLEEP(RAND() * 0.02);
    END LOOP;
END//

-- As rowlock_end; first the usual end, written out, of a lease of rowlock_name that leaves no row
-- in the history. If the token has another name or owner, it ends nothing; p_name NULL: any.
-- p_token 0, which no lease has: it executes each statement once without effect, so that the
-- session has compiled them, and answers nothing.
CREATE OR REPLACE PROCEDURE rowlock_release_lease(
    IN p_token BIGINT, IN p_name VARBINARY(255), IN p_owner VARBINARY(255))
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_removed BIGINT;
    DECLARE v_all, v_own INT DEFAULT 1;
    DECLARE v_rows INT DEFAULT 0;

    IF @@in_transaction OR {reads_only} OR @@GLOBAL.wsrep_on
       OR @rowlock_idle IS NOT NULL
       OR @@tx_isolation <> 'READ-COMMITTED' THEN
        CALL rowlock_require_no_transaction();
    END IF;
    CALL rowlock_real_time();
    IF p_name IS NOT NULL THEN          -- first: the row may be locked under the next lease
        CALL rowlock_identify(p_token, p_name, p_owner, v_all, v_own);
        COMMIT AND NO CHAIN NO RELEASE;
    END IF;
    IF p_name IS NOT NULL AND p_token MOD 2 = 0 AND (v_own > 0 OR p_token = 0) THEN
        BEGIN
            DECLARE EXIT HANDLER FOR 1213 ROLLBACK AND NO CHAIN NO RELEASE;
            {handler_rolls_back};

            START TRANSACTION READ WRITE;
            UPDATE rowlock_name FORCE INDEX (rowlock_name_fence) SET held = 0
             WHERE name = p_name AND token = p_token AND held = 1 AND stop = 0
               AND (p_owner IS NULL OR owner = p_owner)
               AND expires > utc_timestamp(6) AND quiet_until > utc_timestamp(6);
            SET v_rows = ROW_COUNT();
            COMMIT AND NO CHAIN NO RELEASE;
        END;
    END IF;
    IF v_rows <= 0 THEN
        SET v_rows = 0;
        IF v_all = 0 OR v_own > 0 THEN          -- 0: a heartbeat without a lease may be left
            CALL rowlock_end(p_token, p_name, 0, v_rows);
        END IF;
        IF p_token <> 0 AND RAND() < 0.004 THEN
            BEGIN
                DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END;

                CALL rowlock_prune(1000, v_removed);
            END;
        END IF;
    END IF;
    IF p_token <> 0 THEN
        SELECT IF(v_rows > 0, 0, 8) AS number,
               RELEASE_LOCK(CONCAT('rowlock:', MD5(DATABASE()), ':', p_token)) AS unlocked;
    END IF;
END//

CREATE OR REPLACE PROCEDURE rowlock_check(IN p_name VARBINARY(255), IN p_token BIGINT)
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE v_stop TINYINT;
    DECLARE v_left_ms BIGINT;
    DECLARE v_mode VARCHAR(16) CHARACTER SET utf8mb4;
    DECLARE v_owner VARBINARY(255);
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;

    CALL rowlock_require_no_transaction();
    SELECT l.stop, {ms_until l.expires}, l.mode, l.owner
      INTO v_stop, v_left_ms, v_mode, v_owner
      FROM rowlock_held l
     WHERE l.token = p_token AND l.name = p_name AND l.expires > utc_timestamp(6) LIMIT 1;
    COMMIT AND NO CHAIN NO RELEASE;
    SELECT CASE WHEN v_stop IS NULL THEN 8 WHEN v_stop THEN 14 ELSE 0 END AS status,
           COALESCE(v_left_ms, 0) AS left_ms,
           CASE v_mode WHEN 'exclusive' THEN 'x' WHEN 'shared' THEN 's'
               WHEN 'permit' THEN 'p' END AS mode,
           v_owner AS owner;
END//

-- Counts the leases that had not expired. The lease of a finished job has no process that renews
-- it: the rest of its minimum hold (taken_until) ends at once.
CREATE OR REPLACE PROCEDURE rowlock_break(
    IN p_name VARBINARY(255), IN p_token BIGINT, IN p_now TINYINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_end, v_live TINYINT DEFAULT 0;
    DECLARE v_token BIGINT;
    DECLARE v_broken, v_rows, v_over INT DEFAULT 0;
    DECLARE c_tokens CURSOR FOR
        SELECT DISTINCT l.token, COALESCE(l.expires > utc_timestamp(6), 0)
          FROM rowlock_held l
         WHERE l.name = p_name AND (p_token = 0 OR l.token = p_token) ORDER BY l.token;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_end = 1;

    CALL rowlock_require_no_transaction();
    OPEN c_tokens;
    COMMIT AND NO CHAIN NO RELEASE;             -- the cursor has read all it needs
    tokens: LOOP
        FETCH c_tokens INTO v_token, v_live;
        IF v_end THEN
            LEAVE tokens;
        END IF;
        START TRANSACTION READ WRITE;           -- a node that decided before this must decide again
        UPDATE rowlock_job j JOIN rowlock_run r ON r.job = j.name SET j.version = j.version + 1
         WHERE r.token = v_token AND r.outcome = 'running' AND j.running = v_token
           AND CONCAT('job:', r.job) = p_name;
        UPDATE rowlock_run SET outcome = 'broken'
         WHERE token = v_token AND outcome = 'running' AND CONCAT('job:', job) = p_name;
        SELECT count(*) INTO v_over FROM rowlock_run
         WHERE token = v_token AND outcome IN ('done', 'failed', 'timed out')
           AND CONCAT('job:', job) = p_name;
        COMMIT AND NO CHAIN NO RELEASE;
        IF p_now OR v_over THEN
            CALL rowlock_end(v_token, p_name, p_now, v_rows);
        ELSE
            START TRANSACTION READ WRITE;
            CALL rowlock_set_stop(v_token, p_name, 0);
            COMMIT AND NO CHAIN NO RELEASE;
            SET v_rows = 1;
        END IF;
        SET v_broken = v_broken + (v_live AND v_rows > 0);
    END LOOP;
    CLOSE c_tokens;
    SELECT v_broken AS number;
END//

-- The fence, in the caller's transaction: a session that ends the lease must lock the entry of the
-- index, or DELETE the row, that this locks, and waits. Renewals pass it. But above READ COMMITTED
-- those of a lease of rowlock_name wait, too, because every current read of its row locks the row.
-- At READ COMMITTED it looks first, because the entry stays locked, and would delay the holder of
-- another lease of the name. p_seconds as in rowlock_lock_own_lease. p_status: 0, 2, 7, 8 lost, 10
-- a read-only transaction. p_stays: it is locked nevertheless.
CREATE OR REPLACE PROCEDURE rowlock_lock_fence(
    IN p_name VARBINARY(255), IN p_token BIGINT, IN p_seconds INT,
    OUT p_status TINYINT, OUT p_stays TINYINT, OUT p_detail VARCHAR(400) CHARACTER SET utf8mb4)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_row INT DEFAULT 0;
    DECLARE v_there INT DEFAULT 1;
    DECLARE v_committed TINYINT
        DEFAULT @@tx_isolation IN ('READ-COMMITTED', 'READ-UNCOMMITTED');
    DECLARE EXIT HANDLER FOR 1205, 1969 SET p_status = 2;
    DECLARE EXIT HANDLER FOR 1317 SET p_status = 7;
    DECLARE EXIT HANDLER FOR 1792
        SET p_status = 10,
            p_detail = '25006 rowlock: a fence in a read-only transaction would guard nothing';
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;

    IF NOT @@in_transaction AND @@autocommit THEN
        SIGNAL SQLSTATE 'RL006' SET MYSQL_ERRNO = 30006, MESSAGE_TEXT =
            'rowlock: no transaction is open: the fence holds until yours ends';
    END IF;
    {check_session};
    SET p_stays = NOT v_committed;
    UPDATE rowlock_heartbeat SET stop = stop WHERE FALSE;     -- 1792 in a read-only transaction
    SET p_seconds = IF(p_seconds < 0, @@innodb_lock_wait_timeout, p_seconds);
    IF p_token MOD 2 = 0 AND v_committed THEN
        SELECT count(*) INTO v_there FROM rowlock_name
         WHERE name = p_name AND token = p_token AND held = 1;
    END IF;
    IF p_token MOD 2 = 0 AND v_there > 0 THEN
        SET STATEMENT innodb_lock_wait_timeout = p_seconds FOR
            SELECT 1 INTO v_row FROM rowlock_name FORCE INDEX (rowlock_name_fence)
             WHERE name = p_name LOCK IN SHARE MODE;
        SET v_row = 0;
        IF v_committed THEN
            SELECT count(*) INTO v_row FROM rowlock_name
             WHERE name = p_name AND token = p_token AND held = 1;
            SET p_stays = v_row = 0;
        ELSE                                    -- an older snapshot would show an older lease
            SET STATEMENT innodb_lock_wait_timeout = p_seconds FOR
                SELECT count(*) INTO v_row FROM rowlock_name FORCE INDEX (PRIMARY)
                 WHERE name = p_name AND token = p_token AND held = 1 LOCK IN SHARE MODE;
        END IF;
    END IF;
    IF v_row = 0 THEN
        SET STATEMENT innodb_lock_wait_timeout = p_seconds FOR
            SELECT 1 INTO v_row FROM rowlock_lease FORCE INDEX (rowlock_lease_token)
             WHERE token = p_token AND name = p_name LIMIT 1 LOCK IN SHARE MODE;
    END IF;
    SET p_status = IF(v_row, 0, 8);
END//

-- For the C library: with a limit, and the status row as a result set.
CREATE OR REPLACE PROCEDURE rowlock_fence_row(
    IN p_name VARBINARY(255), IN p_token BIGINT, IN p_limit_ms BIGINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_seconds INT;
    DECLARE v_status, v_stays TINYINT;
    DECLARE v_detail VARCHAR(400) CHARACTER SET utf8mb4;

    CALL rowlock_seconds(GREATEST(p_limit_ms, 1), NOT @@innodb_rollback_on_timeout, v_seconds);
    CALL rowlock_lock_fence(p_name, p_token, v_seconds, v_status, v_stays, v_detail);
    SELECT v_status AS status, IF(v_status = 0, NULL, p_name) AS name,
           v_status = 8 AND v_stays AS stays, v_detail AS detail;
END//

{end_of_piece};
