-- SPDX-License-Identifier: Apache-2.0
-- Views for people and monitoring: holders, waiters, names, jobs and subjects. They only read.
-- Times are timestamptz, or NULL. OFFSET 0 makes the planner search each run by its index; when it
-- expects no rows, it would otherwise join the tables in full. A run is searched by job and token:
-- by the token alone the planner might read the index run_job in full.

-- Lists every name that some table contains. The server shows only the key of a transaction's lock,
-- and a key cannot be turned into a name.
CREATE VIEW rowlock.names AS
SELECT n.name, false AS kept, n.name IN (SELECT l.name FROM rowlock.lease l
                                          WHERE l.token > 0
                                            AND l.expires > pg_catalog.clock_timestamp()) AS leased,
       rowlock.key(n.name) AS key
  FROM (SELECT l.name FROM rowlock.lease l WHERE l.token > 0
        UNION SELECT w.name FROM rowlock.waiter w
        UNION SELECT 'counter:' || c.name FROM rowlock.counter c
        UNION SELECT 'job:' || j.name FROM rowlock.job j
        UNION SELECT 'subject:' || s.name FROM rowlock.subject s) n;
COMMENT ON VIEW rowlock.names IS
    'Every known name: leased or waited for, of counters, jobs and subjects. kept: always false '
    'here. key: its advisory lock key in pg_locks. Other names that transactions lock are not '
    'listed.';

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
 WHERE CASE WHEN w.alive_until IS NULL THEN {session_key_of w.ticket} IN (SELECT m.key FROM
                                                                             session_locked m)
            ELSE w.alive_until > pg_catalog.clock_timestamp() END
UNION ALL
SELECT n.name, CASE WHEN n.name IS NULL THEN 'unknown' ELSE 'transaction' END, b.mode, NULL, NULL,
       NULL, NULL, b.pid, coalesce(a.client_hostname, pg_catalog.host(a.client_addr)),
       nullif(a.application_name, ''), NULL, a.query_start, b.key
  FROM (SELECT l.classid::bigint << 32 | l.objid::bigint AS key, l.pid,
               CASE l.mode WHEN 'ShareLock' THEN 'shared' ELSE 'exclusive' END AS mode
          FROM pg_catalog.pg_locks l
         WHERE {advisory_lock l} AND NOT l.granted) b
  LEFT JOIN rowlock.names n ON n.key = b.key
  LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = b.pid
 WHERE b.key NOT IN {session_keys};
COMMENT ON VIEW rowlock.waiters IS
    'Waiters. kind lease: in the queue for a lease (place 1 is next); transaction: in a '
    'transaction, pid is the server session; unknown: as in rowlock.holders.';

-- Lists leases and transactions, each once. Waiters wait for the name, not for a certain holder, so
-- all holders of a name show the same number.
CREATE VIEW rowlock.holders AS
WITH waiting AS MATERIALIZED (SELECT w.key, pg_catalog.count(*) AS waiting FROM rowlock.waiters w
                              GROUP BY w.key),
     prepared AS (
    SELECT x.virtualtransaction, p.gid, p.prepared
      FROM pg_catalog.pg_prepared_xacts p
      JOIN pg_catalog.pg_locks x
        ON x.transactionid = p.transaction AND x.locktype = 'transactionid' AND x.pid IS NULL),
     held AS (
    SELECT l.name, 'lease' AS kind, l.mode, l.token,
           CASE WHEN l.mode = 'permit' THEN l."count"::bigint END AS permits, l."limit", l.pid,
           l.host, l.command AS program, l.note, l.acquired AS since, l.expires, l.stop AS broken,
           rowlock.key(l.name) AS key
      FROM rowlock.lease l
     WHERE l.token > 0 AND l.expires > pg_catalog.clock_timestamp()
    UNION ALL
    SELECT n.name, CASE WHEN n.name IS NULL THEN 'unknown'
        WHEN k.pid IS NULL THEN 'prepared transaction'
                        ELSE 'transaction' END,
           k.mode, NULL, NULL, NULL, k.pid, k.host, k.program,
           'prepared transaction ' || p.gid, coalesce(k.since, p.prepared), NULL, NULL, k.key
      FROM ({transactions}) k
      LEFT JOIN rowlock.names n ON n.key = k.key
      LEFT JOIN prepared p ON p.virtualtransaction = k.prepared
     WHERE k.key NOT IN {session_keys})
SELECT h.name, h.kind, h.mode, h.token, h.permits, h."limit", h.pid, h.host, h.program, h.note,
       h.since, h.expires, h.broken, coalesce(w.waiting, 0) AS waiting, h.key
  FROM held h LEFT JOIN waiting w ON w.key = h.key;
COMMENT ON VIEW rowlock.holders IS
    'Holders. kind lease: pid is the holding program on host; broken: the lease ends at its next '
    'renewal. transaction: pid is the server session, since the start of the transaction. '
    'prepared transaction: it has no session, note shows its identifier for COMMIT PREPARED or '
    'ROLLBACK PREPARED. unknown: an advisory lock of a name that no table contains '
    '(rowlock.names), of a transaction or of another program; compare key with rowlock.key(name). '
    'host and since of other users'' sessions: for pg_read_all_stats only.';

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
           AND h.token > 0 AND h.expires > pg_catalog.clock_timestamp()) AS paused,
       CASE WHEN j.last_success > 0
           THEN t.zero + j.last_success::double precision * t.ms END AS last_success,
       j.runs_done, j.runs_failed, j.runs_timed_out, j.runs_broken, j.runs_lost, j.runs_late,
       j.runs_not_started
  FROM rowlock.job j
 CROSS JOIN (SELECT pg_catalog.to_timestamp(0) AS zero, interval '1 ms' AS ms) t
  LEFT JOIN LATERAL (SELECT * FROM rowlock.lease b
                      WHERE b.token = j.running AND b.token > 0 LIMIT 1) b
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

-- PROCESSING without a live refresh is shown as ERROR.
CREATE VIEW rowlock.subjects AS
SELECT s.name, s.description, CASE WHEN d.died THEN 'ERROR' ELSE s.status END AS status,
       t.zero + s.began::double precision * t.ms AS began,
       t.zero + s.ended::double precision * t.ms AS ended,
       CASE WHEN d.valid THEN t.zero + s.updated::double precision * t.ms END AS updated,
       CASE WHEN d.valid THEN greatest({now_ms} - s.updated, 0) END AS age_ms,
       s.basis IS NOT NULL AS made, s.program, s.host, s.pid,
       CASE WHEN d.died AND s.token = 0 THEN 'its transaction was committed before it finished'
            WHEN d.died THEN 'its holder died' ELSE s.error END AS error, s.exit
  FROM rowlock.subject s
  LEFT JOIN rowlock.expiry e ON e.name = s.name
 CROSS JOIN LATERAL (
     SELECT s.status = 'PROCESSING' AND NOT EXISTS (
                SELECT FROM rowlock.lease l WHERE l.token = s.token AND l.token > 0
                    AND l.expires > pg_catalog.clock_timestamp()) AS died,
            s.basis > coalesce(e.expired, -1) AS valid) d
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
