-- rowlock on MariaDB, the history of leases that ended and of waiters that gave up (rowlock log).
-- The transaction that deletes a lease writes its row. A release before quiet_until
-- writes none, so that it costs nothing. The lease of a run has its row in rowlock_run
-- instead. Run install.sql first.

{own_mode};

CREATE TABLE IF NOT EXISTS rowlock_history (
    name     VARBINARY(255) NOT NULL,
    mode     ENUM ('exclusive', 'shared', 'permit') NOT NULL,
    permits  INT NOT NULL,
    token    BIGINT NULL,             -- NULL: a waiter that gave up
                                      -- negative: the caller that broke that lease
    host     VARCHAR(255) NULL,
    pid      BIGINT NULL,
    command  VARCHAR(255) NULL,
    note     VARCHAR(1024) NULL,
    acquired DATETIME(6) NULL,        -- UTC; NULL: never
    waited   BIGINT NOT NULL,         -- milliseconds
    ended    DATETIME(6) NOT NULL,    -- UTC
    how      VARCHAR(16) NOT NULL,    -- released, expired, revoked, gave up
    id       BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    KEY rowlock_history_ended (ended)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

DELIMITER //

-- Describes how a lease ended, for the end of a sentence; NULL if the history does not know, or the
-- caller may not read it. The caller that broke the lease has the negative token.
CREATE OR REPLACE PROCEDURE rowlock_how_ended(
    IN p_token BIGINT, OUT p_text VARCHAR(400) CHARACTER SET utf8mb4)
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION SET p_text = NULL;

    SET p_text = NULL;
    SELECT LEFT(CASE WHEN h.token < 0
                     THEN CONCAT_WS(' ', 'was broken', CONCAT('by ', NULLIF(h.command, '')),
                                    CONCAT('on ', h.host), CONCAT('(pid ', h.pid, ')'))
                     WHEN h.how = 'revoked' THEN 'was broken'
                     WHEN h.how = 'expired' THEN 'has expired' ELSE 'was released' END, 400)
      INTO p_text
      FROM rowlock_history h
     WHERE h.token IN (p_token, -p_token) AND h.how <> 'gave up'
       AND h.ended > utc_timestamp(6) - INTERVAL 1 HOUR
     ORDER BY h.token LIMIT 1;
END//

-- Writes the history of a lease that ends now, if the level includes it, before its rows are
-- deleted. Callers ignore every error of it except a deadlock, which has rolled back the
-- transaction. p_seconds: how long a lock of another session on the history may delay it.
CREATE OR REPLACE PROCEDURE rowlock_log_end(IN p_token BIGINT, IN p_seconds INT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
whole: BEGIN
    DECLARE v_history, v_how VARCHAR(16) CHARACTER SET utf8mb4;
    DECLARE v_expires, v_ended DATETIME(6);
    DECLARE v_stop TINYINT;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;

    SELECT m.history, b.expires, b.stop INTO v_history, v_expires, v_stop
      FROM rowlock_alive b JOIN rowlock_meta m WHERE b.token = p_token;
    SET v_ended = LEAST(v_expires, utc_timestamp(6));
    SET v_how = CASE WHEN v_stop THEN 'revoked' WHEN v_ended < v_expires THEN 'released'
                     ELSE 'expired' END;
    IF v_expires IS NULL OR v_history IS NULL OR v_history = 'off'
       OR v_history = 'problems' AND v_how = 'released' THEN
        LEAVE whole;
    END IF;
    SET STATEMENT lock_wait_timeout = p_seconds, innodb_lock_wait_timeout = p_seconds FOR
        INSERT INTO rowlock_history (name, mode, permits, token, host, pid, command, note, acquired,
                                     waited, ended, how)
        SELECT l.name, l.mode,
               GREATEST(1, (SELECT count(*) FROM rowlock_lease p
                             WHERE p.token = p_token AND p.name = l.name)),
               l.token, l.host, l.pid, l.command, l.note, l.acquired, l.waited,
               GREATEST(v_ended, l.acquired), v_how
          FROM rowlock_held l
         WHERE l.token = p_token
           -- one of the permits; a GROUP BY would need a temporary table
           AND l.n = COALESCE((SELECT MIN(p.n) FROM rowlock_lease p
                                WHERE p.token = p_token AND p.name = l.name), 0)
           AND (LEFT(l.name, 4) <> 'job:'
                OR NOT EXISTS (SELECT 1 FROM rowlock_run r WHERE r.token = p_token))
           AND (v_history = 'all' OR v_how <> 'released' OR l.waited >= 1000
                OR TIMESTAMPDIFF(MICROSECOND, l.acquired, v_ended) >= 10000000);
END//

CREATE OR REPLACE PROCEDURE rowlock_log_waiter(IN p_ticket BIGINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_history VARCHAR(16) CHARACTER SET utf8mb4;

    SELECT history INTO v_history FROM rowlock_meta;
    IF v_history <> 'off' THEN
        SET STATEMENT lock_wait_timeout = 1, innodb_lock_wait_timeout = 1 FOR
            INSERT INTO rowlock_history (name, mode, permits, host, pid, command, note, waited,
                                         ended, how)
            SELECT name, mode, `count`, host, pid, command, note,
                   GREATEST(TIMESTAMPDIFF(MICROSECOND, since, utc_timestamp(6)) DIV 1000, 0),
                   utc_timestamp(6), 'gave up'
              FROM rowlock_waiter
             WHERE ticket = p_ticket
               AND (v_history = 'all' OR since <= utc_timestamp(6) - INTERVAL 1 SECOND);
    END IF;
END//

-- Lists the history and the finished runs of jobs, latest first. p_pattern: for LIKE; NULL: any
-- name.
CREATE OR REPLACE PROCEDURE rowlock_list_history(
    IN p_pattern VARBINARY(600), IN p_since_ms BIGINT, IN p_problems TINYINT, IN p_waited BIGINT,
    IN p_limit BIGINT)
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE v_since DATETIME(6)
        DEFAULT '1970-01-01' + INTERVAL LEAST(p_since_ms, 9223372036854775) * 1000 MICROSECOND;

    (SELECT h.name, h.mode, h.permits, COALESCE(h.token, 0) AS token, h.host, h.pid, h.command,
            h.note, COALESCE({read_instant h.acquired}, 0) AS acquired, h.waited,
            {read_instant h.ended} AS ended_ms, h.how, 0 AS `exit`, 0 AS is_run
       FROM rowlock_history h
      WHERE h.ended >= v_since AND (p_pattern IS NULL OR h.name LIKE p_pattern ESCAPE '!')
        AND (p_problems = 0 OR h.how <> 'released') AND (h.waited >= p_waited OR h.token < 0)
        AND NOT EXISTS (SELECT 1 FROM rowlock_run r WHERE r.token = h.token AND r.finished > 0)
      ORDER BY h.ended DESC LIMIT p_limit)
    UNION ALL
    (SELECT CONCAT('job:', r.job), 'exclusive', 1, r.token, r.node, r.pid, NULL, NULL, r.started, 0,
            r.finished, r.outcome, r.`exit`, 1
       FROM rowlock_run r
      WHERE r.finished > 0 AND r.finished >= p_since_ms
        AND (p_pattern IS NULL OR CONCAT('job:', r.job) LIKE p_pattern ESCAPE '!')
        AND (p_problems = 0 OR r.outcome <> 'done') AND p_waited <= 0
      ORDER BY r.finished DESC LIMIT p_limit)
    ORDER BY ended_ms DESC, token DESC LIMIT p_limit;
END//

-- Deletes at most p_batch rows whose time has passed; none while another session does this. A
-- release calls it now and then, so that the history stays small where neither cron nor vacuum
-- runs.
CREATE OR REPLACE PROCEDURE rowlock_prune(IN p_batch BIGINT, OUT p_removed BIGINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_good, v_bad BIGINT;
    DECLARE v_now DATETIME(6);
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        ROLLBACK AND NO CHAIN NO RELEASE;
        DO RELEASE_LOCK(CONCAT('rowlock:', MD5(DATABASE()), ':prune'));
        SET p_removed = 0;
    END;

    CALL rowlock_real_time();
    SET p_removed = 0, v_now = utc_timestamp(6);
    IF GET_LOCK(CONCAT('rowlock:', MD5(DATABASE()), ':prune'), 0) = 1 THEN
        START TRANSACTION READ WRITE;
        SELECT keep_good, keep_bad INTO v_good, v_bad FROM rowlock_meta;
        DELETE FROM rowlock_history
         WHERE ended < v_now - INTERVAL LEAST(v_good, v_bad) * 1000 MICROSECOND
           AND ended < v_now - INTERVAL IF(how = 'released', v_good, v_bad) * 1000 MICROSECOND
         ORDER BY ended LIMIT p_batch;
        SET p_removed = ROW_COUNT();
        COMMIT AND NO CHAIN NO RELEASE;
        DO RELEASE_LOCK(CONCAT('rowlock:', MD5(DATABASE()), ':prune'));
    END IF;
END//

CREATE OR REPLACE PROCEDURE rowlock_prune_row(IN p_batch BIGINT)
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE v_removed BIGINT;

    CALL rowlock_prune(p_batch, v_removed);
    SELECT v_removed AS removed;
END//

{end_of_piece};
