-- rowlock on MariaDB, views: holders, waiters, names, jobs and subjects. Run subject.sql first.
-- Read them inside rowlock's database, whose name is part of the names of the session locks and
-- tables that they read.
--
-- They show what the caller may see (SQL SECURITY INVOKER). Leases, jobs and subjects are complete
-- and current. Times are UTC; names compare byte by byte.
--
-- Transactions that hold a name or wait for one appear only while a session waits, because InnoDB
-- shows no other locks. InnoDB refreshes that data only after 0.1 s without a reader, and shows it
-- only to an account to which PROCESS is granted directly (not through a role).

{own_mode};

-- Lists transactions that block others, and those others. For a reader without PROCESS the server's
-- lock tables raise an error; so they are in a subquery that is not executed for such a reader, and
-- returns a JSON document. Under technique insert the index of the table in use gives the name. A
-- prepared (XA) transaction has no session; its XA id is not in any table. The view selects from
-- the subquery t, because on MariaDB 10.11.14 only an account with privileges on all databases can
-- create a view that selects a column of JSON_TABLE itself (MDEV-27898).
CREATE OR REPLACE SQL SECURITY INVOKER VIEW rowlock_transactions AS
    SELECT t.name, t.kind, t.mode, t.waits, t.host, t.pid, t.program, t.note, t.since FROM (
    SELECT DISTINCT CONVERT(UNHEX(j.name) USING utf8mb4) COLLATE utf8mb4_nopad_bin AS name,
           IF(j.pid IS NULL, 'prepared transaction', 'transaction') AS kind,
           j.mode, j.waits, j.host, j.pid, j.program,
           IF(j.pid IS NULL, 'listed by XA RECOVER, ended by XA COMMIT or XA ROLLBACK',
              NULL) AS note,
           j.since
      FROM (SELECT (
                SELECT JSON_ARRAYAGG(JSON_OBJECT(
                           'name',
                           IF(k.lock_data LIKE '0x%',
                              SUBSTRING_INDEX(SUBSTRING(k.lock_data, 3), ',', 1),
                              HEX(REPLACE(
                                 SUBSTRING(REGEXP_SUBSTR(k.lock_data, '^''([^'']|'''')*(?='')'), 2),
                                  '''''', ''''))),
                           'mode',
                           IF(m.technique <> 'insert' AND k.lock_mode LIKE 'S%', 'shared',
                              'exclusive'),
                           'waits', t.trx_requested_lock_id <=> k.lock_id,
                           'host', SUBSTRING_INDEX(p.host, ':', 1), 'pid', p.id, 'program', p.user,
                           'since', CONVERT_TZ(t.trx_started, 'SYSTEM', '+00:00'))
                       LIMIT 1000)
                  FROM information_schema.innodb_locks k
                  JOIN information_schema.innodb_trx t ON t.trx_id = k.lock_trx_id
                  LEFT JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id
                  JOIN rowlock_meta m ON REPLACE(k.lock_table, '`', '') =
                       CASE WHEN m.technique <> 'insert' THEN CONCAT(DATABASE(), '.rowlock_name')
                            WHEN LOCATE('.', m.object) > 0 THEN REPLACE(m.object, '`', '')
                            ELSE CONCAT(DATABASE(), '.', REPLACE(m.object, '`', '')) END
                 -- a name; otherwise a gap, or an entry of another index, such as that of a fence
                 WHERE (k.lock_data LIKE '0x%'
                        AND (m.technique = 'insert'
                             OR (k.lock_index = 'PRIMARY' AND k.lock_data NOT LIKE '%,%'))
                        OR k.lock_data LIKE '''%')
            ) AS document
              FROM (SELECT 1 AS one FROM information_schema.user_privileges
                     WHERE privilege_type = 'PROCESS'
                       AND grantee = CONCAT('''', REPLACE(CURRENT_USER(), '@', '''@'''), '''')
                           LIMIT 1) may
           ) d, JSON_TABLE(d.document, '$[*]' COLUMNS (
               name VARCHAR(510) CHARACTER SET utf8mb4 PATH '$.name',
               mode VARCHAR(16) CHARACTER SET utf8mb4 PATH '$.mode',
               waits TINYINT PATH '$.waits',
               host VARCHAR(255) CHARACTER SET utf8mb4 PATH '$.host',
               pid BIGINT PATH '$.pid',
               program VARCHAR(255) CHARACTER SET utf8mb4 PATH '$.program',
               since DATETIME PATH '$.since')) j) t;

-- The columns of all views below have the same names, order and meaning on every engine
-- (docs/sql.md).

-- kind: the kind of lock that the session waits for. place: 1 is next; NULL for a transaction.
CREATE OR REPLACE SQL SECURITY INVOKER VIEW rowlock_waiters AS
    SELECT CONVERT(w.name USING utf8mb4) COLLATE utf8mb4_nopad_bin AS name, 'lease' AS kind,
           CAST(w.mode AS CHAR(16)) AS mode, w.ticket,
           (SELECT count(*) FROM rowlock_waiter b WHERE b.name = w.name AND b.ticket <= w.ticket)
               AS place,
           IF(w.mode = 'permit', w.`count`, NULL) AS permits, w.`limit`, w.pid, w.host,
           w.command AS program, w.note, w.since
      FROM rowlock_waiter w
     WHERE IF(w.alive_until IS NULL,
              NOT IS_FREE_LOCK(CONCAT('rowlock:', MD5(DATABASE()), ':', w.ticket)),
              w.alive_until > utc_timestamp(6))
    UNION ALL
    SELECT t.name, t.kind, t.mode, NULL, NULL, NULL, NULL, t.pid, t.host, t.program, t.note, t.since
      FROM rowlock_transactions t WHERE t.waits;

-- kind: lease, transaction or prepared transaction. pid: of the program, if it gave one; of a
-- transaction, the session number for KILL. broken: the lease gets no further renewal.
CREATE OR REPLACE SQL SECURITY INVOKER VIEW rowlock_holders AS
    SELECT h.name, h.kind, h.mode, h.token, h.permits, h.`limit`, h.pid, h.host, h.program, h.note,
           h.since, h.expires, h.broken, COALESCE(w.waiting, 0) AS waiting
      FROM (SELECT CONVERT(l.name USING utf8mb4) COLLATE utf8mb4_nopad_bin AS name, 'lease' AS kind,
                   CAST(MAX(l.mode) AS CHAR(16)) AS mode, l.token,
                   IF(MAX(l.mode) = 'permit', count(*), NULL) AS permits, MAX(l.`limit`) AS `limit`,
                   MAX(l.pid) AS pid, MAX(l.host) AS host, MAX(l.command) AS program,
                   MAX(l.note) AS note, MAX(l.acquired) AS since, MAX(l.expires) AS expires,
                   MAX(l.stop) AS broken
              FROM rowlock_held l
             WHERE l.expires > utc_timestamp(6)
             GROUP BY l.token, l.name
            UNION ALL
            SELECT t.name, t.kind, t.mode, NULL, NULL, NULL, t.pid, t.host, t.program, t.note,
                   t.since, NULL, NULL
              FROM rowlock_transactions t WHERE NOT t.waits) h
      LEFT JOIN (SELECT name, count(*) AS waiting FROM rowlock_waiters GROUP BY name) w
        ON w.name = h.name;

-- Lists every name that some table contains. kept: technique row keeps a row of it until
-- rowlock_unlock or rowlock_vacuum.
CREATE OR REPLACE SQL SECURITY INVOKER VIEW rowlock_names AS
    SELECT CONVERT(n.name USING utf8mb4) COLLATE utf8mb4_nopad_bin AS name, MAX(n.kept) AS kept,
           MAX(n.leased) AS leased
      FROM (SELECT name, 1 AS kept, 0 AS leased FROM rowlock_name
            UNION ALL
            SELECT l.name, 0, COALESCE(l.expires > utc_timestamp(6), 0) FROM rowlock_held l
            UNION ALL SELECT w.name, 0, 0 FROM rowlock_waiter w
            UNION ALL SELECT CONCAT('counter:', c.name), 0, 0 FROM rowlock_counter c
            UNION ALL SELECT CONCAT('job:', j.name), 0, 0 FROM rowlock_job j
            UNION ALL SELECT CONCAT('subject:', s.name), 0, 0 FROM rowlock_subject s) n
     GROUP BY n.name;

-- Each job with its current run, or its last. due NULL: never again. failed: when the last run
-- failed, until another begins.
CREATE OR REPLACE SQL SECURITY INVOKER VIEW rowlock_jobs AS
    SELECT CONVERT(j.name USING utf8mb4) COLLATE utf8mb4_nopad_bin AS name, j.schedule,
           {instant NULLIF(j.due, 9223372036854775807)} AS due,
           CASE WHEN j.running = 0 THEN COALESCE(CAST(r.outcome AS CHAR(16)), 'never run')
                WHEN b.token IS NOT NULL THEN IF(b.stop, 'broken', 'running')
                WHEN r.outcome IN ('broken', 'not started') THEN CAST(r.outcome AS CHAR(16))
                ELSE 'lost' END AS state,
           NULLIF(j.running, 0) AS token, r.node, r.pid, r.repeats,
           {instant r.started} AS started,
           {instant NULLIF(r.finished, 0)} AS finished,
           IF(r.finished > 0, r.`exit`, NULL) AS `exit`, r.output,
           {instant NULLIF(j.failed, 0)} AS failed,
           (SELECT MIN(h.acquired)
              FROM rowlock_held h
             WHERE h.name = CONCAT('job:', j.name) AND h.pid IS NULL
               AND h.expires > utc_timestamp(6)) AS paused,
           {instant NULLIF(j.last_success, 0)} AS last_success,
           j.runs_done, j.runs_failed, j.runs_timed_out, j.runs_broken, j.runs_lost, j.runs_late,
           j.runs_not_started
      FROM rowlock_job j
      LEFT JOIN rowlock_alive b ON b.token = j.running AND b.expires > utc_timestamp(6)
      LEFT JOIN rowlock_run r ON r.token = COALESCE(NULLIF(j.running, 0),
                                                    (SELECT MAX(e.token) FROM rowlock_run e
                                                     WHERE e.job = j.name));

-- updated and age_ms: of the present data; NULL: there is none, or it has expired. PROCESSING
-- without a live refresh is shown as ERROR.
CREATE OR REPLACE SQL SECURITY INVOKER VIEW rowlock_subjects AS
    SELECT CONVERT(s.name USING utf8mb4) COLLATE utf8mb4_nopad_bin AS name, s.description,
           IF(s.died, 'ERROR', CAST(s.status AS CHAR(16))) AS status,
           {instant s.began} AS began,
           {instant s.ended} AS ended,
           IF(s.counts, {instant s.updated}, NULL) AS updated,
           IF(s.counts, GREATEST({now_ms} - s.updated, 0), NULL) AS age_ms,
           s.basis IS NOT NULL AS made, s.program, s.host, s.pid,
           CASE WHEN s.died AND s.token = 0 THEN 'its transaction was committed before it finished'
                WHEN s.died THEN 'its holder died' ELSE s.error END AS error, s.`exit`
      FROM (SELECT r.*, r.basis > COALESCE(e.expired, -1) AS counts,
                   r.status = 'PROCESSING' AND NOT EXISTS (
                       SELECT 1 FROM rowlock_alive b
                        WHERE b.token = r.token AND b.expires > utc_timestamp(6)) AS died
              FROM rowlock_subject r LEFT JOIN rowlock_expiry e ON e.name = r.name) s;

{former_mode};
