-- Changes the tables of older versions to those of this one; install.sql and the pieces after it
-- then create the views again, and the tables that are new. Runs in the same transaction.

-- From version 1. The kept runs give the first counts.
ALTER TABLE rowlock_job ADD COLUMN runs_done INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rowlock_job ADD COLUMN runs_failed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rowlock_job ADD COLUMN runs_timed_out INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rowlock_job ADD COLUMN runs_broken INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rowlock_job ADD COLUMN runs_lost INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rowlock_job ADD COLUMN runs_late INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rowlock_job ADD COLUMN runs_not_started INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rowlock_job ADD COLUMN last_success INTEGER NOT NULL DEFAULT 0;
UPDATE rowlock_job
   SET runs_done = (SELECT count(*) FROM rowlock_run AS run
              WHERE run.job = name AND run.outcome = 'done' AND run.finished > 0),
       runs_failed = (SELECT count(*) FROM rowlock_run AS run
              WHERE run.job = name AND run.outcome = 'failed' AND run.finished > 0),
       runs_timed_out = (SELECT count(*) FROM rowlock_run AS run
              WHERE run.job = name AND run.outcome = 'timed out' AND run.finished > 0),
       runs_broken = (SELECT count(*) FROM rowlock_run AS run
              WHERE run.job = name AND run.outcome = 'broken' AND run.finished > 0),
       runs_lost = (SELECT count(*) FROM rowlock_run AS run
              WHERE run.job = name AND run.outcome = 'lost' AND run.finished > 0),
       runs_late = (SELECT count(*) FROM rowlock_run AS run
              WHERE run.job = name AND run.outcome = 'late' AND run.finished > 0),
       runs_not_started = (SELECT count(*) FROM rowlock_run AS run
              WHERE run.job = name AND run.outcome = 'not started' AND run.finished > 0),
       last_success = coalesce((SELECT max(run.finished) FROM rowlock_run AS run
                                 WHERE run.job = name AND run.outcome = 'done'), 0);
DROP VIEW IF EXISTS rowlock_jobs;
DROP VIEW IF EXISTS rowlock_lock;           -- with its trigger
DROP VIEW IF EXISTS rowlock_acquire;
ALTER TABLE rowlock_lease ADD COLUMN waited INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rowlock_heartbeat
    ADD COLUMN quiet_until INTEGER NOT NULL DEFAULT 9223372036854775807;
ALTER TABLE rowlock_number ADD COLUMN history INTEGER NOT NULL DEFAULT 2;
ALTER TABLE rowlock_number ADD COLUMN keep_good INTEGER NOT NULL DEFAULT 86400000;
ALTER TABLE rowlock_number ADD COLUMN keep_bad INTEGER NOT NULL DEFAULT 604800000;
