-- Changes the tables of older versions to those of this one; install.sql and the pieces after it
-- then replace the procedures and create the new tables. MariaDB commits each ALTER, so this may
-- run again after an interruption: finish.sql writes the new version last. While an ALTER waits for
-- a transaction that uses the table, every other session waits behind it. So it gives up soon, and
-- the caller repeats this.

-- From version 1. The kept runs give the first counts.
ALTER TABLE rowlock_job WAIT 1
    ADD COLUMN IF NOT EXISTS {added rowlock_job runs_done};
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
ALTER TABLE rowlock_meta WAIT 1
    ADD COLUMN IF NOT EXISTS {added rowlock_meta history};
ALTER TABLE rowlock_lease WAIT 1 ADD COLUMN IF NOT EXISTS {added rowlock_lease waited};
ALTER TABLE rowlock_heartbeat WAIT 1
    ADD COLUMN IF NOT EXISTS {added rowlock_heartbeat quiet_until};
ALTER TABLE rowlock_name WAIT 1 ADD COLUMN IF NOT EXISTS {added rowlock_name least_token};
