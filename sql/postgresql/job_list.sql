-- SPDX-License-Identifier: Apache-2.0
-- Lists the job $1, or all jobs (NULL): due time, current run, last result, pause.
SELECT pg_catalog.convert_to(j.name, 'UTF8'), pg_catalog.convert_to(j.schedule, 'UTF8'),
       rowlock.now_ms(), j.due, c.token, pg_catalog.convert_to(c.node, 'UTF8'), c.pid, c.due,
       c.repeats, c.started,
       CASE WHEN b.token IS NOT NULL THEN 'running' WHEN c.outcome = 'running' THEN 'lost'
           ELSE c.outcome END,
       l.token, pg_catalog.convert_to(l.node, 'UTF8'), l.pid, l.due, l.repeats, l.started,
       l.finished, l.outcome, l.exit, pg_catalog.convert_to(l.output, 'UTF8'), d.runs,
       d.average_ms, f.since,
       c.finished, c.exit, pg_catalog.convert_to(c.output, 'UTF8'),
       p.token, pg_catalog.convert_to(p.host, 'UTF8'), pg_catalog.convert_to(p.note, 'UTF8'),
       (extract(epoch FROM p.acquired)::numeric * 1000.0)::bigint,
       (extract(epoch FROM p.expires)::numeric * 1000.0)::bigint,
       j.runs_done, j.runs_failed, j.runs_timed_out, j.runs_broken, j.runs_lost, j.runs_late,
       j.runs_not_started, j.last_success
  FROM rowlock.job j
  LEFT JOIN rowlock.run c ON c.token = j.running
  LEFT JOIN rowlock.heartbeat b ON b.token = j.running AND b.expires > pg_catalog.clock_timestamp()
  LEFT JOIN LATERAL (SELECT * FROM rowlock.run e WHERE e.job = j.name AND e.token <> j.running
                      ORDER BY e.token DESC LIMIT 1) l ON true
 CROSS JOIN LATERAL (SELECT count(*) AS runs, avg(e.finished - e.started)::bigint AS average_ms,
                            coalesce(max(e.token), 0) AS token
                       FROM rowlock.run e WHERE e.job = j.name AND e.outcome = 'done') d
 CROSS JOIN LATERAL (SELECT min(e.started) AS since FROM rowlock.run e
                      WHERE e.job = j.name AND e.outcome IN ('failed', 'timed out', 'not started')
                        AND e.token > d.token) f
  LEFT JOIN LATERAL (SELECT h.token, h.host, h.note, h.acquired, e.expires
                       FROM rowlock.lease h JOIN rowlock.heartbeat e ON e.token = h.token
                      WHERE h.name = ('job:' || j.name) COLLATE "C" AND h.pid IS NULL
                        AND e.expires > pg_catalog.clock_timestamp()
                      ORDER BY e.expires DESC LIMIT 1) p ON true
 WHERE $1::bytea IS NULL OR j.name = pg_catalog.convert_from($1::bytea, 'UTF8') COLLATE "C"
 ORDER BY j.name;
