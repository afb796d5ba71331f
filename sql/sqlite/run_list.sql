-- The history of one job, the latest run first.
-- ?1 name
SELECT run.token, run.node, run.pid, run.due, run.repeats, run.started, run.finished,
       CASE WHEN run.outcome = 'running' AND beat.token IS NULL THEN 'lost'
            WHEN run.outcome = 'broken' AND beat.token IS NOT NULL THEN 'running'
            ELSE run.outcome END AS outcome,
       run.exit, run.output
  FROM rowlock_run AS run
  LEFT JOIN rowlock_beat AS beat
    ON beat.token = run.token
   AND beat.expires > CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER)
 WHERE run.job = ?1 ORDER BY run.token DESC;
