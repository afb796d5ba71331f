-- Lists the jobs that are not fine, the worst first, as job_list: of those LIKE ?1 (escape !), by
-- name or as job:NAME; at most ?2 (0: all). Then the number of jobs, and of those that are paused,
-- slow, late, failing, lost. The first row is without a job if none is listed. ?3: a job is late
-- after; ?4: a run is slow after, ?5: and after this many times the average. LIKE ignores the case
-- of ASCII letters, so the pattern becomes one of GLOB.
WITH clock AS (
    SELECT CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER) AS now,
           replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(
               ?1, '!!', char(1)), '!%', char(2)), '!_', char(3)), '[', '[[]'), '*', '[*]'),
               '?', '[?]'), '%', '*'), char(1), '!'), char(2), '%'), char(3), '_') AS pattern),
named AS (
    SELECT job.*, now
      FROM clock, rowlock_job AS job
     WHERE name GLOB pattern OR 'job:' || name GLOB pattern),
suspect AS ( -- all others are fine: no run has begun since one that is done
    SELECT named.*, run.token AS current,
           run.token IS NOT NULL AND heartbeat.token IS NOT NULL AS runs,
           CASE WHEN heartbeat.token IS NOT NULL THEN 'running' WHEN run.outcome = 'running'
                THEN 'lost' ELSE run.outcome END AS shown,
           ended.token AS former,
           CASE WHEN run.token IS NULL THEN ended.outcome WHEN run.outcome = 'running' THEN 'lost'
                ELSE run.outcome END AS outcome,
           CASE WHEN run.token IS NULL THEN ended.started ELSE run.started END AS started,
           (SELECT other.token FROM rowlock_lease AS other
              JOIN rowlock_heartbeat AS beat ON beat.token = other.token
             WHERE other.name = 'job:' || named.name AND other.pid IS NULL AND beat.expires > now
             ORDER BY beat.expires DESC LIMIT 1) AS pause
      FROM named
      LEFT JOIN rowlock_run AS run ON run.token = named.running
      LEFT JOIN rowlock_heartbeat AS heartbeat
        ON heartbeat.token = named.running AND heartbeat.expires > now
      LEFT JOIN rowlock_run AS ended
        ON ended.token = (SELECT other.token FROM rowlock_run AS other
                           WHERE other.job = named.name AND other.token <> named.running
                           ORDER BY other.token DESC LIMIT 1)
     WHERE pause IS NOT NULL OR named.running <> 0 OR named.due < now - ?3
        OR ended.outcome <> 'done'),
looked AS (
    SELECT suspect.*,
           (SELECT count(*) FROM rowlock_run AS done
             WHERE done.job = suspect.name AND done.outcome = 'done') AS done,
           (SELECT CAST(avg(done.finished - done.started) AS INTEGER) FROM rowlock_run AS done
             WHERE done.job = suspect.name AND done.outcome = 'done') AS average_ms,
           (SELECT min(failed.started) FROM rowlock_run AS failed
             WHERE failed.job = suspect.name
               AND failed.outcome IN ('failed', 'timed out', 'not started')
               AND failed.token > coalesce((SELECT max(done.token) FROM rowlock_run AS done
                                             WHERE done.job = suspect.name
                                               AND done.outcome = 'done'), 0)) AS since
      FROM suspect),
judged AS (
    SELECT *, max(?5 * average_ms, ?4) AS most_ms,
           CASE WHEN pause IS NOT NULL THEN 1
                WHEN NOT runs AND outcome IN ('lost', 'late') THEN 5
                WHEN since IS NOT NULL THEN 4
                WHEN NOT runs AND due < now - ?3 THEN 3
                WHEN runs AND done > 0 AND now - started > max(?5 * average_ms, ?4) THEN 2
                ELSE 0 END AS health
      FROM looked),
ranked AS (
    SELECT *, row_number() OVER (
               ORDER BY health DESC,
                        CASE health WHEN 1 THEN pause WHEN 2 THEN started + most_ms WHEN 3 THEN due
                                    WHEN 4 THEN since ELSE started END, name) AS number,
           sum(health = 1) OVER () AS paused, sum(health = 2) OVER () AS slow,
           sum(health = 3) OVER () AS late, sum(health = 4) OVER () AS failing,
           sum(health = 5) OVER () AS lost
      FROM judged WHERE health > 0)
SELECT ranked.name, ranked.schedule, ranked.now, ranked.due,
       run.token, run.node, run.pid, run.due, run.repeats, run.started, ranked.shown,
       ended.token, ended.node, ended.pid, ended.due, ended.repeats, ended.started, ended.finished,
       ended.outcome, ended.exit, ended.output, ranked.done, ranked.average_ms, ranked.since,
       run.finished, run.exit, run.output,
       pause.token, pause.host, pause.note, pause.acquired, pausing.expires,
       ranked.runs_done, ranked.runs_failed, ranked.runs_timed_out, ranked.runs_broken,
       ranked.runs_lost, ranked.runs_late, ranked.runs_not_started, ranked.last_success,
       total.jobs, ranked.paused, ranked.slow, ranked.late, ranked.failing, ranked.lost
  FROM (SELECT count(*) AS jobs FROM named) AS total
  LEFT JOIN ranked ON ?2 = 0 OR ranked.number <= ?2
  LEFT JOIN rowlock_run AS run ON run.token = ranked.current
  LEFT JOIN rowlock_run AS ended ON ended.token = ranked.former
  LEFT JOIN rowlock_lease AS pause
    ON pause.token = ranked.pause AND pause.name = 'job:' || ranked.name AND pause.n = 0
  LEFT JOIN rowlock_heartbeat AS pausing ON pausing.token = ranked.pause
 ORDER BY ranked.number;
