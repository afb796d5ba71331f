-- Counts the ended runs of each job that the history of version 1 has.
UPDATE rowlock_job j
  JOIN (SELECT job, SUM(outcome = 'done') AS done, SUM(outcome = 'failed') AS failed,
               SUM(outcome = 'timed out') AS timed_out, SUM(outcome = 'broken') AS broken,
               SUM(outcome = 'lost') AS lost, SUM(outcome = 'late') AS late,
               SUM(outcome = 'not started') AS not_started,
               MAX(IF(outcome = 'done', finished, 0)) AS success
          FROM rowlock_run WHERE finished > 0 GROUP BY job) k ON k.job = j.name
   SET j.runs_done = k.done, j.runs_failed = k.failed, j.runs_timed_out = k.timed_out,
       j.runs_broken = k.broken, j.runs_lost = k.lost, j.runs_late = k.late,
       j.runs_not_started = k.not_started, j.last_success = k.success
 WHERE (SELECT version FROM rowlock_meta) < 2;
