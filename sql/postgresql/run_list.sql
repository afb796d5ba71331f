-- SPDX-License-Identifier: Apache-2.0
SELECT r.token, pg_catalog.convert_to(r.node, 'UTF8'), r.pid, r.due, r.repeats, r.started,
       r.finished, CASE WHEN r.outcome = 'running' AND b.token IS NULL THEN 'lost'
            WHEN r.outcome = 'broken' AND b.token IS NOT NULL THEN 'running' ELSE r.outcome END,
       r.exit, pg_catalog.convert_to(r.output, 'UTF8')
  FROM rowlock.run r
  LEFT JOIN rowlock.heartbeat b ON b.token = r.token AND b.expires > pg_catalog.clock_timestamp()
 WHERE r.job = pg_catalog.convert_from($1::bytea, 'UTF8') COLLATE "C"
 ORDER BY r.token DESC;
