-- SPDX-License-Identifier: Apache-2.0
-- For people and for monitoring: who holds, who waits, which names there are, what jobs and subjects
-- do. Reads only. Instants are timestamptz, or NULL.

-- Every name that stands in some table. Of a transaction's lock the server tells the key alone, and a
-- name can be made a key, but no key a name.
CREATE VIEW rowlock.names AS
SELECT n.name, n.name IN (SELECT k.name FROM rowlock.names() k (name)) AS kept,
       EXISTS (SELECT FROM rowlock.lease l JOIN rowlock.beat b ON b.token = l.token
                WHERE l.name = n.name COLLATE "C" AND b.expires > pg_catalog.clock_timestamp()) AS leased,
       rowlock.key(n.name) AS key
  FROM (SELECT k.name FROM rowlock.names() k (name)
        UNION SELECT l.name FROM rowlock.lease l
        UNION SELECT w.name FROM rowlock.waiter w
        UNION SELECT 'counter:' || c.name FROM rowlock.counter c
        UNION SELECT 'job:' || j.name FROM rowlock.job j
        UNION SELECT 'subject:' || s.name FROM rowlock.subject s) n;
COMMENT ON VIEW rowlock.names IS
    'Every name that is known: leased or waited for, of counters, jobs and subjects, and those that technique row keeps (kept). key: its number in pg_locks. Names that transactions lock stand nowhere else.';

-- Tickets first, each alive as rowlock.list judges it; then who waits for T.
CREATE VIEW rowlock.waiters AS
WITH marked AS MATERIALIZED (
    SELECT k.classid::bigint << 32 | k.objid::bigint AS key FROM pg_catalog.pg_locks k
     WHERE k.locktype = 'advisory' AND k.granted AND k.objsubid = 1
       AND k.database = (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database()))
SELECT w.name, 'lease' AS kind, w.mode, w.ticket,
       pg_catalog.row_number() OVER (PARTITION BY w.name ORDER BY w.ticket) AS place,
       CASE WHEN w.mode = 'permit' THEN w."count" END AS permits, w."limit", w.pid, w.host,
       w.command AS program, w.note, w.since, rowlock.key(w.name) AS key
  FROM rowlock.waiter w
 WHERE CASE WHEN w.seen IS NULL THEN rowlock.session_key(w.ticket) IN (SELECT m.key FROM marked m)
            ELSE w.seen > pg_catalog.clock_timestamp() END
UNION ALL
SELECT n.name, CASE WHEN n.name IS NULL THEN 'unknown' ELSE 'transaction' END, b.mode, NULL, NULL, NULL, NULL, b.pid,
       coalesce(a.client_hostname, pg_catalog.host(a.client_addr)), nullif(a.application_name, ''), NULL,
       a.query_start, b.key
  FROM rowlock.blocked() b
  LEFT JOIN rowlock.names n ON n.key = b.key
  LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = b.pid
 WHERE b.key NOT IN (SELECT s.key FROM rowlock.session_keys() s (key));
COMMENT ON VIEW rowlock.waiters IS
    'Who waits. kind lease: in the queue for a lease (place 1 is next); transaction: in a transaction, pid is the server session; unknown: as in rowlock.holders.';

-- Of a lease and of a transaction, each once. What waits, waits for the name, whatever holds it.
CREATE VIEW rowlock.holders AS
WITH waiting AS MATERIALIZED (SELECT w.key, pg_catalog.count(*) AS waiting FROM rowlock.waiters w GROUP BY w.key),
     locked AS MATERIALIZED (
    SELECT k.classid::bigint << 32 | k.objid::bigint AS key, k.pid,
           CASE WHEN k.pid IS NULL THEN k.virtualtransaction END AS prepared,
           pg_catalog.bool_or(k.mode = 'ExclusiveLock') AS alone
      FROM pg_catalog.pg_locks k
     WHERE k.locktype = 'advisory' AND k.granted AND k.objsubid = 1
       AND k.database = (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database())
     GROUP BY 1, 2, 3),
     prepared AS (
    SELECT x.virtualtransaction, p.gid, p.prepared
      FROM pg_catalog.pg_prepared_xacts p
      JOIN pg_catalog.pg_locks x ON x.transactionid = p.transaction AND x.locktype = 'transactionid' AND x.pid IS NULL),
     held AS (
    SELECT l.name, 'lease' AS kind, l.mode, l.token,
           CASE WHEN l.mode = 'permit' THEN pg_catalog.count(*) END AS permits, l."limit", l.pid, l.host,
           l.command AS program, l.note, l.acquired AS since, b.expires, b.stop AS broken, rowlock.key(l.name) AS key
      FROM rowlock.lease l JOIN rowlock.beat b ON b.token = l.token
     WHERE b.expires > pg_catalog.clock_timestamp()
     GROUP BY l.name, l.mode, l.token, l."limit", l.pid, l.host, l.command, l.note, l.acquired, b.expires, b.stop
    UNION ALL
    SELECT n.name, CASE WHEN n.name IS NULL THEN 'unknown' WHEN k.pid IS NULL THEN 'prepared transaction'
                        ELSE 'transaction' END,
           CASE WHEN m.technique = 'insert' AND n.name IS NOT NULL THEN 'exclusive'
                WHEN m.technique = 'row' AND n.name IS NOT NULL THEN NULL
                WHEN k.alone THEN 'exclusive' ELSE 'shared' END,
           NULL, NULL, NULL, k.pid, coalesce(a.client_hostname, pg_catalog.host(a.client_addr)),
           nullif(a.application_name, ''), 'prepared transaction ' || p.gid, coalesce(a.xact_start, p.prepared),
           NULL, NULL, k.key
      FROM rowlock.meta m CROSS JOIN locked k
      LEFT JOIN rowlock.names n ON n.key = k.key
      LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = k.pid
      LEFT JOIN prepared p ON p.virtualtransaction = k.prepared
     WHERE k.key NOT IN (SELECT s.key FROM rowlock.session_keys() s (key)))
SELECT h.name, h.kind, h.mode, h.token, h.permits, h."limit", h.pid, h.host, h.program, h.note, h.since, h.expires,
       h.broken, coalesce(w.waiting, 0) AS waiting, h.key
  FROM held h LEFT JOIN waiting w ON w.key = h.key;
COMMENT ON VIEW rowlock.holders IS
    'Who holds. kind lease: pid is that of its program on host, broken: it will stop at its next renewal. transaction: pid is the server session, since its beginning, mode NULL where technique row does not tell. prepared transaction: no session has it, note shows its identifier for COMMIT PREPARED or ROLLBACK PREPARED. unknown: an advisory lock whose name stands in no table (rowlock.names), of a transaction or of another program; key = rowlock.key(name) tells which. Other users'' host and program are shown to pg_read_all_stats only.';

CREATE VIEW rowlock.jobs AS
SELECT j.name, j.schedule, CASE WHEN j.due < 9223372036854775807 THEN t.zero + j.due::double precision * t.ms END AS due,
       CASE WHEN j.running = 0 THEN coalesce(l.outcome, 'never run')
            WHEN b.token IS NOT NULL AND b.stop THEN 'broken'
            WHEN b.token IS NOT NULL THEN 'running'
            WHEN c.outcome IN ('broken', 'not started') THEN c.outcome ELSE 'lost' END AS state,
       c.token, r.node, r.pid, r.repeats, t.zero + r.started::double precision * t.ms AS started,
       CASE WHEN r.finished > 0 THEN t.zero + r.finished::double precision * t.ms END AS finished,
       CASE WHEN r.finished > 0 THEN r.exit END AS exit, r.output,
       CASE WHEN j.failed > 0 THEN t.zero + j.failed::double precision * t.ms END AS failed
  FROM rowlock.job j
 CROSS JOIN (SELECT pg_catalog.to_timestamp(0) AS zero, interval '1 ms' AS ms) t
  LEFT JOIN rowlock.run c ON c.token = j.running
  LEFT JOIN rowlock.beat b ON b.token = j.running AND b.expires > pg_catalog.clock_timestamp()
  LEFT JOIN LATERAL (SELECT * FROM rowlock.run e WHERE e.job = j.name AND e.token <> j.running
                      ORDER BY e.token DESC LIMIT 1) l ON true
  LEFT JOIN rowlock.run r ON r.token = CASE WHEN j.running <> 0 THEN j.running ELSE l.token END;
COMMENT ON VIEW rowlock.jobs IS
    'Jobs: when each is due (NULL: never again), and its last run: state is running, done, failed, timed out, broken, lost, late, not started, or never run; token while it runs. failed: when the last run failed, until another begins. The history is in rowlock.run.';

CREATE VIEW rowlock.subjects AS
SELECT s.subject AS name, s.description, s.status, t.zero + s.began_ms::double precision * t.ms AS began, t.zero + s.ended_ms::double precision * t.ms AS ended,
       t.zero + s.updated_ms::double precision * t.ms AS updated, s.age_ms, s.made, s.program, s.host, s.pid, s.error, s.exit
  FROM rowlock.subjects() s
 CROSS JOIN (SELECT pg_catalog.to_timestamp(0) AS zero, interval '1 ms' AS ms) t;
COMMENT ON VIEW rowlock.subjects IS
    'Subjects, and what became of the last refresh of each. updated and age_ms: of what is there; NULL: nothing was made, or it has expired. made: it was made once.';

-- Marks every function that is not for callers: \df+ rowlock.* shows the mark.
DO $$
DECLARE
    each pg_catalog.regprocedure;
BEGIN
    FOR each IN SELECT p.oid FROM pg_catalog.pg_proc p
                 WHERE p.pronamespace = 'rowlock'::pg_catalog.regnamespace::oid
                   AND pg_catalog.obj_description(p.oid, 'pg_proc') IS NULL LOOP
        EXECUTE pg_catalog.format('COMMENT ON FUNCTION %s IS %L', each,
                                  'internal: only rowlock''s own functions and library call it');
    END LOOP;
END $$;
