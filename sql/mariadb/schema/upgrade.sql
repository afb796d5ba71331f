-- Changes the tables of older versions to those of this one; install.sql and the pieces after it
-- then replace the procedures and create the new tables. MariaDB commits each ALTER, so this may
-- run again after an interruption: finish.sql writes the new version last. While an ALTER waits for
-- a transaction that uses the table, every other session waits behind it. So it gives up soon, and
-- the caller repeats this.

-- From version 1. The kept runs give the first counts.
ALTER TABLE rowlock_job WAIT 1
    ADD COLUMN IF NOT EXISTS runs_done BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN IF NOT EXISTS runs_failed BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN IF NOT EXISTS runs_timed_out BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN IF NOT EXISTS runs_broken BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN IF NOT EXISTS runs_lost BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN IF NOT EXISTS runs_late BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN IF NOT EXISTS runs_not_started BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN IF NOT EXISTS last_success BIGINT NOT NULL DEFAULT 0;
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
    ADD COLUMN IF NOT EXISTS history VARCHAR(16) NOT NULL DEFAULT 'slow',
    ADD COLUMN IF NOT EXISTS keep_good BIGINT NOT NULL DEFAULT 86400000,
    ADD COLUMN IF NOT EXISTS keep_bad BIGINT NOT NULL DEFAULT 604800000;
ALTER TABLE rowlock_lease WAIT 1 ADD COLUMN IF NOT EXISTS waited BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rowlock_heartbeat WAIT 1
    ADD COLUMN IF NOT EXISTS quiet_until DATETIME(6) NOT NULL DEFAULT '9999-12-31';
ALTER TABLE rowlock_name WAIT 1 ADD COLUMN IF NOT EXISTS least_token BIGINT NOT NULL DEFAULT 0;
