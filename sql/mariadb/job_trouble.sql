-- Lists the jobs that are not fine, the worst first, as job_list: of those LIKE a pattern (escape
-- !), by name or as job:NAME; at most a number (0: all). Then the number of jobs, and of those that
-- are paused, slow, late, failing, lost. The first row is without a job if none is listed.
-- Parameters: pattern, most rows; a job is late after; a run is slow after, and after this many
-- times the average.
WITH p AS (
    SELECT CAST(? AS BINARY) AS pattern, CAST(? AS SIGNED) AS most, CAST(? AS SIGNED) AS late_ms,
           CAST(? AS SIGNED) AS least_ms, CAST(? AS SIGNED) AS times,
           TIMESTAMPDIFF(MICROSECOND, '1970-01-01', utc_timestamp(6)) DIV 1000 AS now_ms),
named AS (
    SELECT j.*, p.most, p.late_ms, p.least_ms, p.times, p.now_ms
      FROM rowlock_job j JOIN p
     WHERE j.name LIKE p.pattern ESCAPE '!'
        OR CAST(CONCAT('job:', j.name) AS BINARY) LIKE p.pattern ESCAPE '!'),
suspect AS ( -- all others are fine: no run has begun since one that is done
    SELECT x.*, c.token AS current, c.token IS NOT NULL AND b.token IS NOT NULL AS runs,
           CASE WHEN b.token IS NOT NULL THEN 'running' WHEN c.outcome = 'running' THEN 'lost'
                ELSE CAST(c.outcome AS CHAR) END AS outcome,
           CASE WHEN c.token IS NULL THEN CAST(l.outcome AS CHAR) WHEN c.outcome = 'running'
                THEN 'lost' ELSE CAST(c.outcome AS CHAR) END AS ended,
           IF(c.token IS NULL, l.started, c.started) AS started
      FROM (SELECT n.*,
                   (SELECT e.token FROM rowlock_run e
                     WHERE e.job = n.name AND e.token <> n.running
                     ORDER BY e.token DESC LIMIT 1) AS former,
                   (SELECT o.token FROM rowlock_lease o
                      JOIN rowlock_heartbeat k ON k.token = o.token
                     WHERE o.name = CONCAT('job:', n.name) AND o.pid IS NULL
                       AND k.expires > utc_timestamp(6)
                     ORDER BY k.expires DESC LIMIT 1) AS pause
              FROM named n) x
      LEFT JOIN rowlock_run c ON c.token = x.running
      LEFT JOIN rowlock_heartbeat b ON b.token = x.running AND b.expires > utc_timestamp(6)
      LEFT JOIN rowlock_run l ON l.token = x.former
     WHERE x.pause IS NOT NULL OR x.running <> 0 OR x.due < x.now_ms - x.late_ms
        OR l.outcome <> 'done'),
looked AS (
    SELECT s.*,
           (SELECT count(*) FROM rowlock_run d WHERE d.job = s.name AND d.outcome = 'done') AS done,
           (SELECT CAST(AVG(d.finished - d.started) AS SIGNED) FROM rowlock_run d
             WHERE d.job = s.name AND d.outcome = 'done') AS average_ms,
           (SELECT min(f.started) FROM rowlock_run f
             WHERE f.job = s.name AND f.outcome IN ('failed', 'timed out', 'not started')
               AND f.token > COALESCE((SELECT max(d.token) FROM rowlock_run d
                                        WHERE d.job = s.name AND d.outcome = 'done'), 0)) AS since
      FROM suspect s),
judged AS (
    SELECT k.*, GREATEST(k.times * k.average_ms, k.least_ms) AS most_ms,
           CASE WHEN k.pause IS NOT NULL THEN 1
                WHEN NOT k.runs AND k.ended IN ('lost', 'late') THEN 5
                WHEN k.since IS NOT NULL THEN 4
                WHEN NOT k.runs AND k.due < k.now_ms - k.late_ms THEN 3
                WHEN k.runs AND k.done > 0
                 AND k.now_ms - k.started > GREATEST(k.times * k.average_ms, k.least_ms) THEN 2
                ELSE 0 END AS health
      FROM looked k),
ranked AS (
    SELECT g.*, ROW_NUMBER() OVER (
               ORDER BY g.health DESC,
                        CASE g.health WHEN 1 THEN g.pause WHEN 2 THEN g.started + g.most_ms
                                      WHEN 3 THEN g.due WHEN 4 THEN g.since ELSE g.started END,
                        g.name) AS number,
           SUM(g.health = 1) OVER () AS paused, SUM(g.health = 2) OVER () AS slow,
           SUM(g.health = 3) OVER () AS late, SUM(g.health = 4) OVER () AS failing,
           SUM(g.health = 5) OVER () AS lost
      FROM judged g WHERE g.health > 0)
SELECT r.name, r.schedule, r.now_ms, r.due, c.token, c.node, c.pid, c.due, c.repeats, c.started,
       r.outcome, l.token, l.node, l.pid, l.due, l.repeats, l.started, l.finished,
       CAST(l.outcome AS CHAR), l.exit, l.output, r.done, r.average_ms, r.since,
       c.finished, c.exit, c.output, r.pause, q.host, q.note,
       TIMESTAMPDIFF(MICROSECOND, '1970-01-01', q.acquired) DIV 1000,
       TIMESTAMPDIFF(MICROSECOND, '1970-01-01', h.expires) DIV 1000,
       r.runs_done, r.runs_failed, r.runs_timed_out, r.runs_broken, r.runs_lost, r.runs_late,
       r.runs_not_started, r.last_success, t.jobs, r.paused, r.slow, r.late, r.failing, r.lost
  FROM (SELECT count(*) AS jobs FROM named) t
  LEFT JOIN ranked r ON r.most = 0 OR r.number <= r.most
  LEFT JOIN rowlock_run c ON c.token = r.current
  LEFT JOIN rowlock_run l ON l.token = r.former
  LEFT JOIN rowlock_lease q ON q.token = r.pause AND q.name = CONCAT('job:', r.name) AND q.n = 0
  LEFT JOIN rowlock_heartbeat h ON h.token = r.pause
 ORDER BY r.number;
