SELECT r.token, {read_text r.node}, r.pid, r.due, r.repeats, r.started,
       r.finished, CASE WHEN r.outcome = 'running' AND b.token IS NULL THEN 'lost'
            WHEN r.outcome = 'broken' AND b.token IS NOT NULL THEN 'running' ELSE r.outcome END,
       r.exit, {read_text r.output}
  FROM rowlock.run r
  LEFT JOIN rowlock.lease b
    ON b.token = r.token AND b.token > 0 AND b.expires > pg_catalog.clock_timestamp()
 WHERE r.job = {given $1} COLLATE "C"
 ORDER BY r.token DESC;
