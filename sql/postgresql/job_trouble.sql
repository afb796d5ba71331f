-- SPDX-License-Identifier: Apache-2.0
-- Lists the jobs that are not fine, the worst first, as job_list: of those LIKE $1 (escape !), by
-- name or as job:NAME; at most $2 (0: all). Then the number of jobs, and of those that are paused,
-- slow, late, failing, lost. The first row is without a job if none is listed. $3: a job is late
-- after; $4: a run is slow after, $5: and after this many times the average.
WITH named AS (
    SELECT j.*, (SELECT rowlock.now_ms()) AS now_ms,
           (SELECT e.token FROM rowlock.lease h JOIN rowlock.heartbeat e ON e.token = h.token
             WHERE h.name = ('job:' || j.name) COLLATE "C" AND h.pid IS NULL
               AND e.expires > pg_catalog.clock_timestamp()
             ORDER BY e.expires DESC LIMIT 1) AS pause
      FROM rowlock.job j
     WHERE pg_catalog.textlike(j.name COLLATE "C", pg_catalog.like_escape(
               pg_catalog.convert_from($1::bytea, 'UTF8'), '!'))
        OR pg_catalog.textlike(('job:' || j.name) COLLATE "C", pg_catalog.like_escape(
               pg_catalog.convert_from($1::bytea, 'UTF8'), '!'))),
suspect AS ( -- all others are fine: no run has begun since one that is done
    SELECT j.*, c.token AS current, b.token IS NOT NULL AND c.token IS NOT NULL AS runs,
           CASE WHEN b.token IS NOT NULL THEN 'running' WHEN c.outcome = 'running' THEN 'lost'
                ELSE c.outcome END AS outcome,
           l.token AS former,
           CASE WHEN c.token IS NULL THEN l.outcome
                WHEN c.outcome = 'running' THEN 'lost' ELSE c.outcome END AS ended,
           CASE WHEN c.token IS NULL THEN l.started ELSE c.started END AS started
      FROM named j
      LEFT JOIN rowlock.run c ON c.token = j.running
      LEFT JOIN rowlock.heartbeat b
        ON b.token = j.running AND b.expires > pg_catalog.clock_timestamp()
      LEFT JOIN LATERAL (SELECT * FROM rowlock.run e WHERE e.job = j.name AND e.token <> j.running
                          ORDER BY e.token DESC LIMIT 1) l ON true
     WHERE j.pause IS NOT NULL OR j.running <> 0 OR j.due < j.now_ms - $3::bigint
        OR l.outcome <> 'done'),
looked AS (
    SELECT s.*, d.runs AS done, d.average_ms, f.since,
           greatest($5::bigint * d.average_ms, $4::bigint) AS most_ms
      FROM suspect s
     CROSS JOIN LATERAL (SELECT count(*) AS runs, avg(e.finished - e.started)::bigint AS average_ms,
                                coalesce(max(e.token), 0) AS token
                           FROM rowlock.run e WHERE e.job = s.name AND e.outcome = 'done') d
     CROSS JOIN LATERAL (SELECT min(e.started) AS since FROM rowlock.run e
                          WHERE e.job = s.name
                            AND e.outcome IN ('failed', 'timed out', 'not started')
                            AND e.token > d.token) f),
judged AS (
    SELECT k.*, CASE WHEN k.pause IS NOT NULL THEN 1
                     WHEN NOT k.runs AND k.ended IN ('lost', 'late') THEN 5
                     WHEN k.since IS NOT NULL THEN 4
                     WHEN NOT k.runs AND k.due < k.now_ms - $3::bigint THEN 3
                     WHEN k.runs AND k.done > 0 AND k.now_ms - k.started > k.most_ms THEN 2
                     ELSE 0 END AS health
      FROM looked k),
ranked AS (
    SELECT g.*, pg_catalog.row_number() OVER (
               ORDER BY g.health DESC,
                        CASE g.health WHEN 1 THEN g.pause WHEN 2 THEN g.started + g.most_ms
                                      WHEN 3 THEN g.due WHEN 4 THEN g.since ELSE g.started END,
                        g.name COLLATE "C") AS number,
           count(*) FILTER (WHERE g.health = 1) OVER () AS paused,
           count(*) FILTER (WHERE g.health = 2) OVER () AS slow,
           count(*) FILTER (WHERE g.health = 3) OVER () AS late,
           count(*) FILTER (WHERE g.health = 4) OVER () AS failing,
           count(*) FILTER (WHERE g.health = 5) OVER () AS lost
      FROM judged g WHERE g.health > 0)
SELECT pg_catalog.convert_to(r.name, 'UTF8'), pg_catalog.convert_to(r.schedule, 'UTF8'), r.now_ms,
       r.due, c.token, pg_catalog.convert_to(c.node, 'UTF8'), c.pid, c.due, c.repeats, c.started,
       r.outcome, l.token, pg_catalog.convert_to(l.node, 'UTF8'), l.pid, l.due, l.repeats,
       l.started, l.finished, l.outcome, l.exit, pg_catalog.convert_to(l.output, 'UTF8'), r.done,
       r.average_ms, r.since, c.finished, c.exit, pg_catalog.convert_to(c.output, 'UTF8'),
       r.pause, pg_catalog.convert_to(p.host, 'UTF8'), pg_catalog.convert_to(p.note, 'UTF8'),
       (extract(epoch FROM p.acquired)::numeric * 1000.0)::bigint,
       (extract(epoch FROM e.expires)::numeric * 1000.0)::bigint,
       r.runs_done, r.runs_failed, r.runs_timed_out, r.runs_broken, r.runs_lost, r.runs_late,
       r.runs_not_started, r.last_success,
       t.jobs, r.paused, r.slow, r.late, r.failing, r.lost
  FROM (SELECT count(*) AS jobs FROM named) t
  LEFT JOIN ranked r ON $2::bigint = 0::bigint OR r.number <= $2::bigint
  LEFT JOIN rowlock.run c ON c.token = r.current
  LEFT JOIN rowlock.run l ON l.token = r.former
  LEFT JOIN LATERAL (SELECT * FROM rowlock.lease h
                      WHERE h.token = r.pause
                        AND h.name COLLATE "default" = 'job:' || r.name
                      LIMIT 1) p ON true
  LEFT JOIN rowlock.heartbeat e ON e.token = r.pause
 ORDER BY r.number;
