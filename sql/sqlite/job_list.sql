-- Lists one job, or all: due time, current run, last result, pause.
-- ?1 name or NULL
WITH clock AS (
    SELECT CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER) AS now)
SELECT job.name, job.schedule, now AS now_ms, job.due AS next_ms,
       run.token, run.node, run.pid, run.due, run.repeats, run.started,
       CASE WHEN heartbeat.token IS NOT NULL THEN 'running' WHEN run.outcome = 'running' THEN 'lost'
            ELSE run.outcome END AS outcome,
       ended.token, ended.node, ended.pid, ended.due, ended.repeats, ended.started, ended.finished,
       ended.outcome, ended.exit, ended.output,
       (SELECT count(*) FROM rowlock_run AS done
        WHERE done.job = job.name AND done.outcome = 'done') AS runs,
       (SELECT CAST(avg(done.finished - done.started) AS INTEGER) FROM rowlock_run AS done
         WHERE done.job = job.name AND done.outcome = 'done') AS average_ms,
       (SELECT min(failed.started) FROM rowlock_run AS failed
         WHERE failed.job = job.name AND failed.outcome IN ('failed', 'timed out', 'not started')
           AND failed.token > coalesce((SELECT max(done.token) FROM rowlock_run AS done
                                         WHERE done.job = job.name AND done.outcome = 'done'),
                                             0)) AS failed_since,
       run.finished, run.exit, run.output,
       pause.token, pause.host, pause.note, pause.acquired, pausing.expires,
       job.runs_done, job.runs_failed, job.runs_timed_out, job.runs_broken, job.runs_lost,
       job.runs_late, job.runs_not_started, job.last_success
  FROM clock, rowlock_job AS job
  LEFT JOIN rowlock_run AS run ON run.token = job.running
  LEFT JOIN rowlock_heartbeat AS heartbeat
    ON heartbeat.token = job.running AND heartbeat.expires > now
  LEFT JOIN rowlock_run AS ended ON ended.token = (SELECT max(other.token) FROM rowlock_run AS other
                                                  WHERE other.job = job.name
                                                    AND other.token <> job.running)
  LEFT JOIN rowlock_lease AS pause
    ON pause.name = 'job:' || job.name
   AND pause.token = (SELECT other.token FROM rowlock_lease AS other
                        JOIN rowlock_heartbeat AS beat ON beat.token = other.token
                       WHERE other.name = 'job:' || job.name AND other.pid IS NULL
                         AND beat.expires > now
                       ORDER BY beat.expires DESC LIMIT 1) AND pause.n = 0
  LEFT JOIN rowlock_heartbeat AS pausing ON pausing.token = pause.token
 WHERE ?1 IS NULL OR job.name = ?1
 ORDER BY job.name;
