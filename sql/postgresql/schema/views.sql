-- SPDX-License-Identifier: Apache-2.0
-- Views for people and monitoring: holders, waiters, names, jobs and subjects. They only read.
-- Times are timestamptz, or NULL. OFFSET 0 makes the planner search each lease, heartbeat and run
-- by its index; when it expects no rows, it would otherwise join the tables in full. A run is
-- searched by job and token: by the token alone the planner might read the index run_job in full.

-- Lists every name that some table contains. The server shows only the key of a transaction's lock,
-- and a key cannot be turned into a name.
CREATE VIEW rowlock.names AS
SELECT n.name, n.name IN (SELECT k.name FROM rowlock.names() k (name)) AS kept,
       EXISTS (SELECT FROM (SELECT l.token, l.expires FROM rowlock.lease l
                             WHERE l.name = n.name COLLATE "C" OFFSET 0) l
                WHERE {expires_of l} > pg_catalog.clock_timestamp()) AS leased,
       rowlock.key(n.name) AS key
  FROM (SELECT k.name FROM rowlock.names() k (name)
        UNION SELECT l.name FROM rowlock.lease l
        UNION SELECT w.name FROM rowlock.waiter w
        UNION SELECT 'counter:' || c.name FROM rowlock.counter c
        UNION SELECT 'job:' || j.name FROM rowlock.job j
        UNION SELECT 'subject:' || s.name FROM rowlock.subject s) n;
COMMENT ON VIEW rowlock.names IS
    'Every known name: leased or waited for, of counters, jobs and subjects, and those that '
    'technique row keeps (kept). key: its advisory lock key in pg_locks. Other names that '
    'transactions lock are not listed.';

-- Lists tickets first, each alive as rowlock.list defines it; then sessions that wait for a name
-- lock.
CREATE VIEW rowlock.waiters AS
WITH session_locked AS MATERIALIZED (
    SELECT k.classid::bigint << 32 | k.objid::bigint AS key FROM pg_catalog.pg_locks k
     WHERE {advisory_lock k} AND k.granted)
SELECT w.name, 'lease' AS kind, w.mode, w.ticket,
       pg_catalog.row_number() OVER (PARTITION BY w.name ORDER BY w.ticket) AS place,
       CASE WHEN w.mode = 'permit' THEN w."count" END AS permits, w."limit", w.pid, w.host,
       w.command AS program, w.note, w.since, rowlock.key(w.name) AS key
  FROM rowlock.waiter w
 WHERE CASE WHEN w.alive_until IS NULL THEN rowlock.session_key(w.ticket) IN (SELECT m.key
                                                                              FROM session_locked m)
            ELSE w.alive_until > pg_catalog.clock_timestamp() END
UNION ALL
SELECT n.name, CASE WHEN n.name IS NULL THEN 'unknown' ELSE 'transaction' END, b.mode, NULL, NULL,
       NULL, NULL, b.pid, coalesce(a.client_hostname, pg_catalog.host(a.client_addr)),
       nullif(a.application_name, ''), NULL, a.query_start, b.key
  FROM rowlock.blocked() b
  LEFT JOIN rowlock.names n ON n.key = b.key
  LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = b.pid
 WHERE b.key NOT IN (SELECT s.key FROM rowlock.session_keys() s (key));
COMMENT ON VIEW rowlock.waiters IS
    'Waiters. kind lease: in the queue for a lease (place 1 is next); transaction: in a '
    'transaction, pid is the server session; unknown: as in rowlock.holders.';

-- Lists leases and transactions, each once. Waiters wait for the name, not for a certain holder, so
-- all holders of a name show the same number.
CREATE VIEW rowlock.holders AS
WITH waiting AS MATERIALIZED (SELECT w.key, pg_catalog.count(*) AS waiting FROM rowlock.waiters w
                              GROUP BY w.key),
     locked AS MATERIALIZED (
    SELECT k.classid::bigint << 32 | k.objid::bigint AS key, k.pid,
           CASE WHEN k.pid IS NULL THEN k.virtualtransaction END AS prepared,
           pg_catalog.bool_or(k.mode = 'ExclusiveLock') AS alone
      FROM pg_catalog.pg_locks k
     WHERE {advisory_lock k} AND k.granted
     GROUP BY 1, 2, 3),
     prepared AS (
    SELECT x.virtualtransaction, p.gid, p.prepared
      FROM pg_catalog.pg_prepared_xacts p
      JOIN pg_catalog.pg_locks x
        ON x.transactionid = p.transaction AND x.locktype = 'transactionid' AND x.pid IS NULL),
     held AS (
    SELECT l.name, 'lease' AS kind, l.mode, l.token,
           CASE WHEN l.mode = 'permit' THEN pg_catalog.count(*) END AS permits, l."limit", l.pid,
           l.host, l.command AS program, l.note, l.acquired AS since, b.expires, b.stop AS broken,
           rowlock.key(l.name) AS key
      FROM rowlock.lease l, {heartbeat_of l} b
     WHERE b.expires > pg_catalog.clock_timestamp()
     GROUP BY l.name, l.mode, l.token, l."limit", l.pid, l.host, l.command, l.note, l.acquired,
         b.expires, b.stop
    UNION ALL
    SELECT n.name, CASE WHEN n.name IS NULL THEN 'unknown'
        WHEN k.pid IS NULL THEN 'prepared transaction'
                        ELSE 'transaction' END,
           CASE WHEN m.technique = 'insert' AND n.name IS NOT NULL THEN 'exclusive'
                WHEN m.technique = 'row' AND n.name IS NOT NULL THEN NULL
                WHEN k.alone THEN 'exclusive' ELSE 'shared' END,
           NULL, NULL, NULL, k.pid, coalesce(a.client_hostname, pg_catalog.host(a.client_addr)),
           nullif(a.application_name, ''), 'prepared transaction ' || p.gid,
           coalesce(a.xact_start, p.prepared), NULL, NULL, k.key
      FROM rowlock.meta m CROSS JOIN locked k
      LEFT JOIN rowlock.names n ON n.key = k.key
      LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = k.pid
      LEFT JOIN prepared p ON p.virtualtransaction = k.prepared
     WHERE k.key NOT IN (SELECT s.key FROM rowlock.session_keys() s (key)))
SELECT h.name, h.kind, h.mode, h.token, h.permits, h."limit", h.pid, h.host, h.program, h.note,
       h.since, h.expires, h.broken, coalesce(w.waiting, 0) AS waiting, h.key
  FROM held h LEFT JOIN waiting w ON w.key = h.key;
COMMENT ON VIEW rowlock.holders IS
    'Holders. kind lease: pid is the holding program on host; broken: the lease ends at its next '
    'renewal. transaction: pid is the server session, since the start of the transaction, mode '
    'NULL where technique row cannot tell it. prepared transaction: it has no session, note shows '
    'its identifier for COMMIT PREPARED or ROLLBACK PREPARED. unknown: an advisory lock of a name '
    'that no table contains (rowlock.names), of a transaction or of another program; compare key '
    'with rowlock.key(name). host and since of other users'' sessions: for pg_read_all_stats only.';

CREATE VIEW rowlock.jobs AS
SELECT j.name, j.schedule,
       CASE WHEN j.due < 9223372036854775807
           THEN t.zero + j.due::double precision * t.ms END AS due,
       CASE WHEN j.running = 0 THEN coalesce(r.outcome, 'never run')
            WHEN b.token IS NOT NULL AND b.stop THEN 'broken'
            WHEN b.token IS NOT NULL THEN 'running'
            WHEN r.outcome IN ('broken', 'not started') THEN r.outcome ELSE 'lost' END AS state,
       CASE WHEN j.running <> 0 THEN r.token END AS token, r.node, r.pid, r.repeats,
       t.zero + r.started::double precision * t.ms AS started,
       CASE WHEN r.finished > 0 THEN t.zero + r.finished::double precision * t.ms END AS finished,
       CASE WHEN r.finished > 0 THEN r.exit END AS exit, r.output,
       CASE WHEN j.failed > 0 THEN t.zero + j.failed::double precision * t.ms END AS failed,
       (SELECT pg_catalog.min(h.acquired) FROM rowlock.lease h
         WHERE h.name = ('job:' || j.name) COLLATE "C" AND h.pid IS NULL
           AND {expires_of h} > pg_catalog.clock_timestamp()) AS paused,
       CASE WHEN j.last_success > 0
           THEN t.zero + j.last_success::double precision * t.ms END AS last_success,
       j.runs_done, j.runs_failed, j.runs_timed_out, j.runs_broken, j.runs_lost, j.runs_late,
       j.runs_not_started
  FROM rowlock.job j
 CROSS JOIN (SELECT pg_catalog.to_timestamp(0) AS zero, interval '1 ms' AS ms) t
  LEFT JOIN LATERAL (SELECT * FROM rowlock.heartbeat b WHERE b.token = j.running OFFSET 0) b
    ON b.expires > pg_catalog.clock_timestamp()
  LEFT JOIN LATERAL (SELECT * FROM rowlock.run r
                      WHERE r.job = j.name
                        AND r.token = coalesce(nullif(j.running, 0),
                                               (SELECT pg_catalog.max(e.token) FROM rowlock.run e
                                                 WHERE e.job = j.name)) OFFSET 0) r ON true;
COMMENT ON VIEW rowlock.jobs IS
    'Jobs: the due time of each (NULL: never again), and its last run: state is running, done, '
    'failed, timed out, broken, lost, late, not started, or never run; token while it runs. '
    'failed: when the last run failed, until another begins. paused: since when rowlock hold keeps '
    'the job from running. The columns runs_... count all ended runs. The history is in '
    'rowlock.run.';

CREATE VIEW rowlock.subjects AS
SELECT s.subject AS name, s.description, s.status,
       t.zero + s.began_ms::double precision * t.ms AS began,
       t.zero + s.ended_ms::double precision * t.ms AS ended,
       t.zero + s.updated_ms::double precision * t.ms AS updated, s.age_ms, s.made, s.program,
       s.host, s.pid, s.error, s.exit
  FROM rowlock.subjects() s
 CROSS JOIN (SELECT pg_catalog.to_timestamp(0) AS zero, interval '1 ms' AS ms) t;
COMMENT ON VIEW rowlock.subjects IS
    'Subjects, and the result of the last refresh of each. updated and age_ms: of the present '
    'data; NULL: there is none, or it has expired. made: a refresh was completed at least once.';

-- Gives every internal function a comment, which \df+ rowlock.* shows.
DO $$
DECLARE
    each pg_catalog.regprocedure;
BEGIN
    FOR each IN SELECT p.oid FROM pg_catalog.pg_proc p
                 WHERE p.pronamespace = 'rowlock'::pg_catalog.regnamespace::oid
                   AND pg_catalog.obj_description(p.oid, 'pg_proc') IS NULL LOOP
        EXECUTE pg_catalog.format('COMMENT ON FUNCTION %s IS %L', each,
                                  'internal: called only by rowlock''s own functions and library');
    END LOOP;
END $$;
