-- Changes the tables of older versions to those of this one; the pieces of an install then create
-- the new tables, and finish.sql writes the version. Each statement commits by itself; on SQLite
-- all of them are one transaction.

-- From version 1. The kept runs give the first counts.
ALTER TABLE rowlock_job ADD {added rowlock_job runs_done};
UPDATE rowlock_job
   SET runs_done = (SELECT COUNT(*) FROM rowlock_run
         WHERE rowlock_run.job = rowlock_job.name AND outcome = 'done' AND finished > 0),
       runs_failed = (SELECT COUNT(*) FROM rowlock_run
         WHERE rowlock_run.job = rowlock_job.name AND outcome = 'failed' AND finished > 0),
       runs_timed_out = (SELECT COUNT(*) FROM rowlock_run
         WHERE rowlock_run.job = rowlock_job.name AND outcome = 'timed out' AND finished > 0),
       runs_broken = (SELECT COUNT(*) FROM rowlock_run
         WHERE rowlock_run.job = rowlock_job.name AND outcome = 'broken' AND finished > 0),
       runs_lost = (SELECT COUNT(*) FROM rowlock_run
         WHERE rowlock_run.job = rowlock_job.name AND outcome = 'lost' AND finished > 0),
       runs_late = (SELECT COUNT(*) FROM rowlock_run
         WHERE rowlock_run.job = rowlock_job.name AND outcome = 'late' AND finished > 0),
       runs_not_started = (SELECT COUNT(*) FROM rowlock_run
         WHERE rowlock_run.job = rowlock_job.name AND outcome = 'not started' AND finished > 0),
       last_success = (SELECT COALESCE(MAX(finished), 0) FROM rowlock_run
         WHERE rowlock_run.job = rowlock_job.name AND outcome = 'done');
{drop_views}
ALTER TABLE rowlock_lease ADD {added rowlock_lease waited};
ALTER TABLE rowlock_heartbeat ADD quiet_until {big} DEFAULT 9223372036854775807 NOT NULL;
ALTER TABLE rowlock_number ADD history {big} DEFAULT 2 NOT NULL;
ALTER TABLE rowlock_number ADD keep_good {big} DEFAULT 86400000 NOT NULL;
ALTER TABLE rowlock_number ADD keep_bad {big} DEFAULT 604800000 NOT NULL;
