-- Lists the runs of one job, latest first.
-- ?1 name
SELECT run.token, run.node, run.pid, run.due, run.repeats, run.started, run.finished,
       CASE WHEN run.outcome = 'running' AND heartbeat.token IS NULL THEN 'lost'
            WHEN run.outcome = 'broken' AND heartbeat.token IS NOT NULL THEN 'running'
            ELSE run.outcome END AS outcome,
       run.exit, run.output
  FROM rowlock_run AS run
  LEFT JOIN rowlock_heartbeat AS heartbeat
    ON heartbeat.token = run.token
   AND heartbeat.expires > CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER)
 WHERE run.job = ?1 ORDER BY run.token DESC;
