-- rowlock on MariaDB, SQL procedures for the mariadb client and programs in any language. Run
-- install.sql, lease.sql and queue.sql first. (rowlock_next is in counter.sql, the views are in
-- views.sql.)
--
--   rowlock_begin_exclusive(name), rowlock_begin_shared(name) begin at READ COMMITTED, lock; wait
--   rowlock_exclusive(name), rowlock_shared(name)             lock in the open transaction; wait
--   rowlock_try_exclusive(name, wait_ms, got), rowlock_try_shared(name, wait_ms, got)
--   rowlock_unlock(name)                                      removes what the lock leaves behind
--   rowlock_prepare(name), rowlock_vacuum(removed)            outside a transaction
--   rowlock_acquire(name, ttl_ms, mode, limit, token), rowlock_renew(token, ttl_ms),
--   rowlock_release(token, released)                          leases, outside a transaction
--   rowlock_fence(name, token)                                in the open transaction
--
-- A procedure returns its answer in its last parameter, OUT, and never as a result set. So a CALL
-- is one plain statement everywhere. After a result set mysqli reports "Commands out of sync" and a
-- Python connector "Unread result found" until the caller has also read the end of the CALL; an
-- event or another procedure could not read the result at all. From the client, Python or PHP:
--     CALL rowlock_acquire('import', 60000, 'exclusive', NULL, @token); SELECT @token;
-- With JDBC, use a CallableStatement with registerOutParameter. Times are milliseconds.
--
-- Every refusal is an error, whose text names the lock, the reason and the remedy:
--     HY000, 1205: not locked in time   70100, 1317: interrupted   40001: rolled back, begin again
--     RL001 not at READ COMMITTED   RL002 the server keeps no lock   RL003 a bad name or argument
--     RL004 not with this technique   RL005 the lease is lost   RL006 no transaction is open
--     RL007 a transaction is open   RL008 not prepared   RL009 a leftover row holds the name
-- RL001 has the error number 30001, and so on, because some drivers show only the number.
--
-- Waits for rows and for leases last up to the session's innodb_lock_wait_timeout.
-- max_statement_time applies too. Set both for one call by:
--     SET STATEMENT innodb_lock_wait_timeout = 5 FOR CALL rowlock_begin_exclusive('import');

{own_mode};

DELIMITER //

-- ---- errors -------------------------------------------------------------------------------------

-- Raises the error of a refused lock, with the engine's own error number if there is one.
CREATE OR REPLACE PROCEDURE rowlock_refuse(
    IN p_status TINYINT, IN p_name VARBINARY(255), IN p_stays TINYINT,
    IN p_detail VARCHAR(400) CHARACTER SET utf8mb4)
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE v_text VARCHAR(512) CHARACTER SET utf8mb4;

    SET v_text = LEFT(CONCAT('rowlock: \'', LEFT(CONVERT(p_name USING utf8mb4), 100),
        IF(p_status = 13, '\': ', '\' '),
        CASE p_status WHEN 3 THEN CONCAT('is held by ', COALESCE(p_detail, 'a lease'))
                      WHEN 4 THEN 'has an expired lease that a transaction still uses: try again'
                      WHEN 5 THEN 'is not prepared: CALL rowlock_prepare before the transaction'
                      WHEN 6 THEN CONCAT('is held by a committed row, which rowlock_vacuum '
                                         'deletes: ', COALESCE(p_detail, ''))
                      WHEN 7 THEN 'was not locked: the statement was interrupted'
                      WHEN 8 THEN
                          'is not, or no longer, leased to this token: roll back, and stop the '
                          'work done under it'
                      WHEN 10 THEN
                          'cannot be fenced in a read-only transaction, which protects no writes'
                      WHEN 13 THEN p_detail
                      ELSE CONCAT('is held by ', COALESCE(p_detail, 'another transaction')) END,
        IF(p_status IN (1, 2, 3), '; try again, or wait longer (innodb_lock_wait_timeout)', ''),
        IF(p_stays, '; rows locked before the refusal stay locked until your transaction ends',
           '')), 500);
    CASE p_status
        WHEN 5 THEN SIGNAL SQLSTATE 'RL008' SET MYSQL_ERRNO = 30008, MESSAGE_TEXT = v_text;
        WHEN 6 THEN SIGNAL SQLSTATE 'RL009' SET MYSQL_ERRNO = 30009, MESSAGE_TEXT = v_text;
        WHEN 7 THEN SIGNAL SQLSTATE '70100' SET MYSQL_ERRNO = 1317, MESSAGE_TEXT = v_text;
        WHEN 8 THEN SIGNAL SQLSTATE 'RL005' SET MYSQL_ERRNO = 30005, MESSAGE_TEXT = v_text;
        WHEN 10 THEN SIGNAL SQLSTATE '25006' SET MYSQL_ERRNO = 1792, MESSAGE_TEXT = v_text;
        WHEN 13 THEN SIGNAL SQLSTATE 'RL003' SET MYSQL_ERRNO = 30003, MESSAGE_TEXT = v_text;
        ELSE SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1205, MESSAGE_TEXT = v_text;
    END CASE;
END//

-- The same in a transaction that was open before. A timeout may have rolled it back.
CREATE OR REPLACE PROCEDURE rowlock_refuse_within(
    IN p_status TINYINT, IN p_name VARBINARY(255), IN p_stays TINYINT,
    IN p_detail VARCHAR(400) CHARACTER SET utf8mb4)
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE v_text VARCHAR(512) CHARACTER SET utf8mb4;

    IF NOT @@in_transaction AND @@autocommit AND p_status IN (1, 2) THEN
        SET v_text =
            LEFT(CONCAT('rowlock: \'', LEFT(CONVERT(p_name USING utf8mb4), 100),
                        '\' was not locked in ',
            'time, and innodb_rollback_on_timeout is set: the server rolled back your whole '
            'transaction; begin again'), 500);
        SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1205, MESSAGE_TEXT = v_text;
    END IF;
    CALL rowlock_refuse(p_status, p_name, p_stays, p_detail);
END//

-- For the exit handlers of the public procedures. A KILL QUERY or max_statement_time that arrives
-- between two statements is raised as an error of the enclosing CALL, and the handlers inside are
-- not used. So each public procedure has a handler around its one CALL. p_open: 1 if the
-- transaction is the caller's; otherwise it ends here. p_status: 7, or 2 by max_statement_time.
CREATE OR REPLACE PROCEDURE rowlock_raise_interrupt(IN p_status TINYINT, IN p_name VARBINARY(255),
                                        IN p_open TINYINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    IF NOT p_open THEN
        ROLLBACK AND NO CHAIN NO RELEASE;
    END IF;
    CALL rowlock_refuse(p_status, p_name, p_open, 'a lease or another transaction');
END//

-- Sleeps, and lengthens the next pause. p_cut: 0; 7 if a KILL QUERY ended the sleep, 3 if
-- max_statement_time did. (DO SLEEP ignores both, and SET v = SLEEP() does not call a handler.)
-- Callers also check max_statement_time by their own clock: the server forgets a timeout or a KILL
-- QUERY that hits a statement which has just ended.
CREATE OR REPLACE PROCEDURE rowlock_pause(INOUT p_seconds DOUBLE, IN p_most DOUBLE,
                                          OUT p_cut TINYINT)
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE v_slept TINYINT;
    DECLARE EXIT HANDLER FOR 1317 SET p_cut = 7;
    DECLARE EXIT HANDLER FOR 1969 SET p_cut = 3;

    SELECT SLEEP(p_seconds) INTO v_slept;
    -- interrupted as the statement ended: no error
    SET p_cut = IF(v_slept, IF(@@max_statement_time > 0, 3, 7), 0);
    SET p_seconds = LEAST(p_seconds * 1.5, p_most);
END//

-- ---- locks in a transaction ---------------------------------------------------------------------

-- Begins a transaction and locks the name in it. Waits up to innodb_lock_wait_timeout for the row,
-- and as long for a lease. While a lease is live it polls outside a transaction.
CREATE OR REPLACE PROCEDURE rowlock_begin_name(
    IN p_name LONGTEXT CHARACTER SET utf8mb4, IN p_shared TINYINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_want LONGTEXT CHARACTER SET ascii;
    DECLARE v_name VARBINARY(255);
    DECLARE v_detail VARCHAR(400) CHARACTER SET utf8mb4;
    DECLARE v_status, v_cut TINYINT DEFAULT 0;
    DECLARE v_all, v_live INT;
    DECLARE v_pause DOUBLE DEFAULT 0.01;
    DECLARE v_end DATETIME(6);

    CALL rowlock_pack(p_name, p_shared, v_want);
    waiting: LOOP
        CALL rowlock_begin_wants(v_want, -2, v_status, v_name, v_detail);
        IF v_status = 0 THEN
            LEAVE waiting;
        END IF;
        IF v_end IS NULL THEN
            SET v_end = utc_timestamp(6) + INTERVAL LEAST(@@innodb_lock_wait_timeout,
                IF(@@max_statement_time > 0, @@max_statement_time,
                   @@innodb_lock_wait_timeout)) SECOND;
        END IF;
        IF v_status NOT IN (3, 4) OR v_cut <> 0 OR utc_timestamp(6) >= v_end THEN
            CALL rowlock_refuse(v_status, p_name, 0, v_detail);
        END IF;
        IF v_status = 4 THEN
            CALL rowlock_sweep_leases(v_want);
        END IF;
        REPEAT
            CALL rowlock_pause(v_pause, 0.25, v_cut);
            CALL rowlock_look(v_name, p_shared, v_all, v_live);
            IF NOT @@autocommit THEN
                COMMIT AND NO CHAIN NO RELEASE;  -- ends the read
            END IF;
        UNTIL v_live = 0 OR v_cut <> 0 OR utc_timestamp(6) >= v_end END REPEAT;
        IF v_cut = 7 THEN
            CALL rowlock_refuse(7, p_name, 0, NULL);
        END IF;
    END LOOP;
END//

CREATE OR REPLACE PROCEDURE rowlock_begin_exclusive(IN name LONGTEXT CHARACTER SET utf8mb4)
    SQL SECURITY INVOKER MODIFIES SQL DATA
    COMMENT 'Begins a transaction at READ COMMITTED and locks the name until it ends; waits.'
BEGIN
    DECLARE v_open TINYINT DEFAULT 1;
    DECLARE EXIT HANDLER FOR 1317 CALL rowlock_raise_interrupt(7, name, v_open);
    DECLARE EXIT HANDLER FOR 1969 CALL rowlock_raise_interrupt(2, name, v_open);

    IF NOT @@in_transaction THEN
        SET v_open = 0;
    END IF;
    CALL rowlock_begin_name(name, 0);
END//

CREATE OR REPLACE PROCEDURE rowlock_begin_shared(IN name LONGTEXT CHARACTER SET utf8mb4)
    SQL SECURITY INVOKER MODIFIES SQL DATA
    COMMENT 'Same as rowlock_begin_exclusive, but compatible with other shared locks.'
BEGIN
    DECLARE v_open TINYINT DEFAULT 1;
    DECLARE EXIT HANDLER FOR 1317 CALL rowlock_raise_interrupt(7, name, v_open);
    DECLARE EXIT HANDLER FOR 1969 CALL rowlock_raise_interrupt(2, name, v_open);

    IF NOT @@in_transaction THEN
        SET v_open = 0;
    END IF;
    CALL rowlock_begin_name(name, 1);
END//

-- Locks in the open transaction. Waits up to innodb_lock_wait_timeout for the row, and as long for
-- a lease, but at most 30 s, because the lease holder may be waiting for rows of this transaction.
CREATE OR REPLACE PROCEDURE rowlock_lock_name(
    IN p_name LONGTEXT CHARACTER SET utf8mb4, IN p_shared TINYINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_want LONGTEXT CHARACTER SET ascii;
    DECLARE v_name VARBINARY(255);
    DECLARE v_detail VARCHAR(400) CHARACTER SET utf8mb4;
    DECLARE v_status, v_stays TINYINT;

    CALL rowlock_pack(p_name, p_shared, v_want);
    CALL rowlock_lock_wants(v_want, -2, LEAST(30, @@innodb_lock_wait_timeout) * 1000, 1,
                            v_status, v_name, v_stays, v_detail);
    IF v_status <> 0 THEN
        CALL rowlock_refuse_within(v_status, p_name, v_stays, v_detail);
    END IF;
END//

CREATE OR REPLACE PROCEDURE rowlock_exclusive(IN name LONGTEXT CHARACTER SET utf8mb4)
    SQL SECURITY INVOKER MODIFIES SQL DATA
    COMMENT 'Locks a name until the open transaction ends, which must be at READ COMMITTED; waits.'
BEGIN
    DECLARE EXIT HANDLER FOR 1317 CALL rowlock_raise_interrupt(7, name, 1);
    DECLARE EXIT HANDLER FOR 1969 CALL rowlock_raise_interrupt(2, name, 1);

    CALL rowlock_lock_name(name, 0);
END//

CREATE OR REPLACE PROCEDURE rowlock_shared(IN name LONGTEXT CHARACTER SET utf8mb4)
    SQL SECURITY INVOKER MODIFIES SQL DATA
    COMMENT 'Same as rowlock_exclusive, but compatible with other shared locks.'
BEGIN
    DECLARE EXIT HANDLER FOR 1317 CALL rowlock_raise_interrupt(7, name, 1);
    DECLARE EXIT HANDLER FOR 1969 CALL rowlock_raise_interrupt(2, name, 1);

    CALL rowlock_lock_name(name, 1);
END//

-- got: 1 locked; 0 not locked, and no row is; 2 not locked, but the row stays locked until the end.
-- It spends whole seconds in InnoDB's queue, and polls every 10 to 50 ms for the rest; it polls all
-- the time where a timeout would roll back your transaction.
CREATE OR REPLACE PROCEDURE rowlock_try_name(
    IN p_name LONGTEXT CHARACTER SET utf8mb4, IN p_shared TINYINT, IN p_wait_ms BIGINT,
    OUT p_got TINYINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_want LONGTEXT CHARACTER SET ascii;
    DECLARE v_name VARBINARY(255);
    DECLARE v_detail VARCHAR(400) CHARACTER SET utf8mb4;
    DECLARE v_status, v_stays, v_cut TINYINT DEFAULT 0;
    DECLARE v_left_ms BIGINT;
    DECLARE v_pause DOUBLE DEFAULT 0.01;
    DECLARE v_end DATETIME(6);

    SET p_wait_ms = LEAST(GREATEST(COALESCE(p_wait_ms, 0), 0), 31536000000,  -- a year
                          IF(@@max_statement_time > 0, CEILING(@@max_statement_time * 1000),
                             31536000000));
    CALL rowlock_real_time();
    SET v_end = {after p_wait_ms};
    CALL rowlock_pack(p_name, p_shared, v_want);
    tries: LOOP
        CALL rowlock_lock_wants(v_want, 0, 0, 1, v_status, v_name, v_stays, v_detail);
        SET v_left_ms = {ms_until v_end};
        IF v_status = 1 AND v_left_ms >= 1000 AND NOT @@innodb_rollback_on_timeout THEN
            SET v_left_ms = v_left_ms DIV 1000 * 1000;
            CALL rowlock_lock_wants(v_want, v_left_ms, v_left_ms, 1,
                                    v_status, v_name, v_stays, v_detail);
            SET v_left_ms = {ms_until v_end};
            -- by max_statement_time
            SET v_cut = IF(v_status IN (2, 3) AND v_left_ms >= 1000, 3, 0);
        END IF;
        IF v_status IN (0, 5, 6, 7) OR v_cut <> 0 OR v_left_ms <= 0 THEN
            LEAVE tries;
        END IF;
        SET v_pause = LEAST(v_pause, v_left_ms / 1000);
        CALL rowlock_pause(v_pause, 0.05, v_cut);
    END LOOP;
    IF v_status IN (5, 6, 7) OR (v_status <> 0 AND v_cut = 7) THEN
        CALL rowlock_refuse(IF(v_cut = 7, 7, v_status), p_name, v_stays, v_detail);
    END IF;
    SET p_got = IF(v_status = 0, 1, IF(v_stays, 2, 0));
END//

CREATE OR REPLACE PROCEDURE rowlock_try_exclusive(
    IN name LONGTEXT CHARACTER SET utf8mb4, IN wait_ms BIGINT, OUT got TINYINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
    COMMENT 'Same as rowlock_exclusive, but waits at most wait_ms. got: 1 locked; 0 not; 2 not, but a row stays locked until the transaction ends.'
BEGIN
    DECLARE EXIT HANDLER FOR 1317 CALL rowlock_raise_interrupt(7, name, 1);
    DECLARE EXIT HANDLER FOR 1969 SET got = 2;

    CALL rowlock_try_name(name, 0, wait_ms, got);
END//

CREATE OR REPLACE PROCEDURE rowlock_try_shared(
    IN name LONGTEXT CHARACTER SET utf8mb4, IN wait_ms BIGINT, OUT got TINYINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
    COMMENT 'Same as rowlock_shared, but waits at most wait_ms. got: 1 locked; 0 not; 2 not, but a row stays locked until the transaction ends.'
BEGIN
    DECLARE EXIT HANDLER FOR 1317 CALL rowlock_raise_interrupt(7, name, 1);
    DECLARE EXIT HANDLER FOR 1969 SET got = 2;

    CALL rowlock_try_name(name, 1, wait_ms, got);
END//

-- Technique row: deletes the row of the name with the COMMIT, unless another session shares the
-- lock; the name stays locked until then. A session that waits for the row finds none:
-- rowlock_begin_* creates it again; in an open transaction the name is not prepared (RL008).
-- Technique insert: does nothing.
CREATE OR REPLACE PROCEDURE rowlock_unlock(IN name LONGTEXT CHARACTER SET utf8mb4)
    SQL SECURITY INVOKER MODIFIES SQL DATA
    COMMENT 'Removes the row that the lock or rowlock_prepare leaves behind, at the COMMIT of the open transaction: call it last. The name stays locked until then. Waits for no lock.'
BEGIN
    DECLARE v_want LONGTEXT CHARACTER SET ascii;

    CALL rowlock_pack(name, 0, v_want);
    {require_transaction v_want};
    CALL rowlock_remove(CONVERT(name USING utf8mb4));
END//

CREATE OR REPLACE PROCEDURE rowlock_prepare(IN name LONGTEXT CHARACTER SET utf8mb4)
    SQL SECURITY INVOKER MODIFIES SQL DATA
    COMMENT 'Prepares a name, which rowlock_exclusive requires if the name was never locked before. Once is enough: it remains until rowlock_unlock. Call it before the transaction begins.'
BEGIN
    DECLARE v_want LONGTEXT CHARACTER SET ascii;
    {ends_own};
    CALL rowlock_pack(name, 0, v_want);
    CALL rowlock_keep_wants(v_want);
    {restores_own};
END//

-- removed counts rows of names and leases, leftover rows, and waiters, but not heartbeats and rows
-- of the history.
CREATE OR REPLACE PROCEDURE rowlock_vacuum(OUT removed BIGINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
    COMMENT 'Removes expired leases, dead waiters and rows of unheld names that rowlock_prepare has not prepared. removed: their number. Waits for no lock.'
BEGIN
    DECLARE v_before, v_after, v_waiters, v_names, v_pruned BIGINT DEFAULT 0;
    {ends_own};
    IF v_open THEN
        SIGNAL SQLSTATE 'RL007' SET MYSQL_ERRNO = 30007, MESSAGE_TEXT =
            'rowlock: vacuum needs transactions of its own, but one is open: COMMIT or ROLLBACK '
            'first';
    END IF;
    CALL rowlock_check_server();
    CALL rowlock_real_time();
    SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SELECT count(*) INTO v_before FROM rowlock_held;
    COMMIT AND NO CHAIN NO RELEASE;
    CALL rowlock_sweep_all();
    SELECT count(*) INTO v_after FROM rowlock_held;
    COMMIT AND NO CHAIN NO RELEASE;
    CALL rowlock_vacuum_queue(v_waiters);
    CALL rowlock_vacuum_names(v_names);
    BEGIN
        -- the account may not call it, or it does not exist: the rest is done
        DECLARE EXIT HANDLER FOR 1370, 1305 BEGIN END;

        REPEAT
            CALL rowlock_prune(10000, v_pruned);
        UNTIL v_pruned < 10000 END REPEAT;
    END;
    SET removed = v_names + v_waiters + GREATEST(v_before - v_after, 0);
    {restores_own};
END//

-- The same for the C library, with the number as a result set.
CREATE OR REPLACE PROCEDURE rowlock_vacuum_row()
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_removed BIGINT;

    CALL rowlock_vacuum(v_removed);
    SELECT v_removed AS removed;
END//

-- ---- leases -------------------------------------------------------------------------------------

CREATE OR REPLACE PROCEDURE rowlock_check_ttl(IN p_ttl_ms BIGINT)
    SQL SECURITY INVOKER NO SQL
BEGIN
    IF p_ttl_ms IS NULL OR p_ttl_ms NOT BETWEEN 1000 AND 3162240000000 THEN
        SIGNAL SQLSTATE 'RL003' SET MYSQL_ERRNO = 30003, MESSAGE_TEXT =
            'rowlock: ttl_ms must be between 1000 (a second) and 3162240000000 (a hundred years)';
    END IF;
END//

CREATE OR REPLACE PROCEDURE rowlock_pack_lease(
    IN p_name LONGTEXT CHARACTER SET utf8mb4, IN p_mode VARCHAR(255) CHARACTER SET utf8mb4,
        IN p_limit INT,
    OUT p_want LONGTEXT CHARACTER SET ascii)
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    CALL rowlock_pack(p_name, 0, p_want);
    IF p_mode IS NULL OR p_mode NOT IN ('exclusive', 'shared', 'permit') THEN
        SIGNAL SQLSTATE 'RL003' SET MYSQL_ERRNO = 30003, MESSAGE_TEXT =
            'rowlock: mode must be exclusive, shared or permit';
    ELSEIF p_mode = 'permit' AND (p_limit IS NULL OR p_limit < 1) THEN
        SIGNAL SQLSTATE 'RL003' SET MYSQL_ERRNO = 30003, MESSAGE_TEXT =
            'rowlock: limit_ is missing: state how many permits the name has, 1 or more';
    ELSEIF p_mode <> 'permit' AND p_limit IS NOT NULL THEN
        SIGNAL SQLSTATE 'RL003' SET MYSQL_ERRNO = 30003, MESSAGE_TEXT =
            'rowlock: limit_ requires mode permit; otherwise pass NULL';
    END IF;
    SET p_want = CONCAT(HEX(p_name), CASE p_mode WHEN 'exclusive' THEN ':x:0:0'
                        WHEN 'shared' THEN ':s:0:0'
                                          ELSE CONCAT(':p:', p_limit, ':1') END);
END//

-- Tries once, as the library does, and up to four times more if the name is busy: another grant or
-- a check holds it only briefly. The server knows the host of the client, but not its process. It
-- takes no session lock, because the session may belong to a pool and another session may release
-- the lease; waiters check every few seconds instead.
CREATE OR REPLACE PROCEDURE rowlock_try_grant(
    IN p_want LONGTEXT CHARACTER SET ascii, IN p_owner VARBINARY(255), IN p_ttl_ms BIGINT,
    OUT p_status TINYINT, OUT p_name VARBINARY(255), OUT p_token BIGINT,
    OUT p_detail VARCHAR(400) CHARACTER SET utf8mb4)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_host VARCHAR(255) CHARACTER SET utf8mb4 DEFAULT SUBSTRING_INDEX(USER(), '@', -1);
    DECLARE v_tries INT DEFAULT 5;
    DECLARE v_number BIGINT;
    DECLARE v_pause DOUBLE DEFAULT 0.01;
    DECLARE v_cut TINYINT DEFAULT 0;

    SET v_host = IF(v_host = 'localhost', @@hostname, v_host);
    tries: LOOP
        CALL rowlock_grant_answer(p_want, p_owner, p_ttl_ms, 0, 0, 0, v_host, NULL,
                                  CONCAT('session ', CONNECTION_ID(), ' of ',
                                         SUBSTRING_INDEX(USER(), '@', 1)),
                                  NULL, p_status, p_name, p_token, v_number, p_detail);
        SET v_tries = v_tries - 1;
        IF p_status <> 1 OR v_tries = 0 OR v_cut <> 0 THEN
            LEAVE tries;
        END IF;
        CALL rowlock_pause(v_pause, 0.05, v_cut);
    END LOOP;
END//

CREATE OR REPLACE PROCEDURE rowlock_acquire(
    IN name LONGTEXT CHARACTER SET utf8mb4, IN ttl_ms BIGINT,
        IN mode VARCHAR(255) CHARACTER SET utf8mb4,
    IN limit_ INT, OUT token BIGINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
    COMMENT 'Acquires a lease of a name; tries once. token: NULL if the name is held or waited for. mode: exclusive, shared, or permit; limit_: how many permits the name has, otherwise NULL. Call it outside a transaction. The lease ends by rowlock_release, or ttl_ms after its last renewal.'
BEGIN
    DECLARE v_want LONGTEXT CHARACTER SET ascii;
    DECLARE v_name VARBINARY(255);
    DECLARE v_detail VARCHAR(400) CHARACTER SET utf8mb4;
    DECLARE v_owner VARBINARY(255) DEFAULT REPLACE(UUID(), '-', '');
    DECLARE v_lost BIGINT;
    DECLARE v_rows INT;
    DECLARE v_status TINYINT;
    DECLARE v_open TINYINT DEFAULT 1;
    DECLARE v_isolation VARCHAR(32) CHARACTER SET ascii DEFAULT @@SESSION.tx_isolation;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        IF NOT v_open THEN
            -- ends a lease whose token no caller would receive
            ROLLBACK AND NO CHAIN NO RELEASE;
            SELECT MIN(l.token) INTO v_lost FROM rowlock_held l
             WHERE l.name = CONVERT(name USING utf8mb4) AND l.owner = v_owner;
            IF v_lost IS NOT NULL THEN
                CALL rowlock_end(v_lost, CONVERT(name USING utf8mb4), 0, v_rows);
            END IF;
        END IF;
        {restores_own};
        RESIGNAL;
    END;

    SET token = NULL;
    IF NOT @@in_transaction THEN
        SET v_open = 0;
    END IF;
    CALL rowlock_pack_lease(name, mode, limit_, v_want);
    CALL rowlock_check_ttl(ttl_ms);
    CALL rowlock_try_grant(v_want, v_owner, ttl_ms, v_status, v_name, token, v_detail);
    IF v_status <> 0 THEN
        SET token = NULL;
    END IF;
    IF v_status IN (6, 7, 13) THEN
        CALL rowlock_refuse(v_status, COALESCE(v_name, CONVERT(name USING utf8mb4)), 0, v_detail);
    END IF;
    {restores_own};
END//

CREATE OR REPLACE PROCEDURE rowlock_renew(IN token BIGINT, IN ttl_ms BIGINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
    COMMENT 'Extends a lease to last ttl_ms from now; never shortens it. Raises an error (RL005) if the lease is lost or broken: stop the work done under it. Call it outside a transaction.'
BEGIN
    DECLARE v_status TINYINT;
    DECLARE v_how VARCHAR(400) CHARACTER SET utf8mb4;
    DECLARE v_text VARCHAR(512) CHARACTER SET utf8mb4;
    {ends_own};
    CALL rowlock_check_ttl(ttl_ms);
    CALL rowlock_extend(COALESCE(token, 0), ttl_ms, NULL, NULL, v_status);
    IF v_status <> 0 THEN
        CALL rowlock_how_ended(token, v_how);
        SET v_text = LEFT(CONCAT('rowlock: the lease ', COALESCE(token, 'NULL'), ' ', COALESCE(
            v_how, IF(v_status = 14, 'was broken', 'has expired, or was broken or released')),
            ': stop the work done under it, another session may hold it'), 500);
        SIGNAL SQLSTATE 'RL005' SET MYSQL_ERRNO = 30005, MESSAGE_TEXT = v_text;
    END IF;
    {restores_own};
END//

CREATE OR REPLACE PROCEDURE rowlock_release(IN token BIGINT, OUT released TINYINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
    COMMENT 'Ends a lease. released: 1; 0 if it was lost or had ended. Call it outside a transaction.'
BEGIN
    DECLARE v_rows INT DEFAULT 0;
    {ends_own};
    CALL rowlock_require_no_transaction();
    CALL rowlock_end(COALESCE(token, 0), NULL, 0, v_rows);
    SET released = v_rows > 0;
    {restores_own};
END//

-- Waits only for a session that is ending that lease, at most innodb_lock_wait_timeout.
CREATE OR REPLACE PROCEDURE rowlock_fence(IN name LONGTEXT CHARACTER SET utf8mb4, IN token BIGINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
    COMMENT 'Keeps a lease valid until the open transaction ends. Raises an error (RL005) unless token is a valid lease of that name: roll back.'
BEGIN
    DECLARE v_want LONGTEXT CHARACTER SET ascii;
    DECLARE v_name VARBINARY(255);
    DECLARE v_detail VARCHAR(400) CHARACTER SET utf8mb4;
    DECLARE v_status, v_stays TINYINT;

    CALL rowlock_pack(name, 0, v_want);
    IF NOT @@in_transaction AND @@autocommit THEN
        CALL rowlock_misuse(v_want, 6);
    END IF;
    SET v_name = UNHEX(SUBSTRING_INDEX(v_want, ':', 1));
    CALL rowlock_lock_fence(v_name, COALESCE(token, 0), -1, v_status, v_stays, v_detail);
    IF v_status <> 0 THEN
        CALL rowlock_refuse_within(v_status, v_name, 0,
                                   IF(v_status = 2, 'a session that is ending the lease',
                                      v_detail));
    END IF;
END//

{end_of_piece};
