-- Reads the state of a job from which a node decides.
-- ?1 name
WITH clock AS (
    SELECT CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER) AS now),
lease AS (
    SELECT max(expires) AS free_ms FROM clock, rowlock_lease JOIN rowlock_heartbeat USING (token)
     WHERE name = 'job:' || ?1 AND expires > now)
SELECT now AS now_ms, coalesce(version, 0) AS version, schedule, coalesce(job.due, 0) AS due,
       coalesce(last, 0) AS last, coalesce(failed, 0) AS failed,
       coalesce(job.repeats, 0) AS repeats, coalesce(running, 0) AS running,
       coalesce(outcome = 'broken', 0) AS broken,
       free_ms IS NOT NULL AS held, coalesce(free_ms, 0) AS free_ms,
       coalesce(outcome = 'not started', 0) AS not_started
  FROM clock, lease
  LEFT JOIN rowlock_job AS job ON job.name = ?1
  LEFT JOIN rowlock_run AS run ON run.token = running;
