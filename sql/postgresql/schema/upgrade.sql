-- SPDX-License-Identifier: Apache-2.0
-- Changes the other tables of older versions to those of this one; install.sql and the pieces after
-- it then replace the functions and create the new tables. Runs in the same transaction, after
-- adopt.sql has checked the owners, whose triggers an UPDATE would run. No renewal waits for it.

-- While this waits for a transaction that uses the tables, every other session waits behind it. So
-- it gives up soon, and the caller repeats it.
SET LOCAL lock_timeout = '500ms';
LOCK TABLE rowlock.job IN ACCESS EXCLUSIVE MODE;

-- From version 1. The kept runs give the first counts.
ALTER TABLE rowlock.job
    ADD COLUMN IF NOT EXISTS {added rowlock.job runs_done};
UPDATE rowlock.job j
   SET runs_done = k.done, runs_failed = k.failed, runs_timed_out = k.timed_out,
       runs_broken = k.broken, runs_lost = k.lost, runs_late = k.late,
       runs_not_started = k.not_started, last_success = k.success
  FROM (SELECT r.job,
               pg_catalog.sum((r.outcome = 'done')::integer) AS done,
               pg_catalog.sum((r.outcome = 'failed')::integer) AS failed,
               pg_catalog.sum((r.outcome = 'timed out')::integer) AS timed_out,
               pg_catalog.sum((r.outcome = 'broken')::integer) AS broken,
               pg_catalog.sum((r.outcome = 'lost')::integer) AS lost,
               pg_catalog.sum((r.outcome = 'late')::integer) AS late,
               pg_catalog.sum((r.outcome = 'not started')::integer) AS not_started,
               pg_catalog.max(CASE WHEN r.outcome = 'done' THEN r.finished ELSE 0 END) AS success
          FROM rowlock.run r WHERE r.finished > 0 GROUP BY r.job) k
 WHERE j.name = k.job AND (SELECT m.version FROM rowlock.meta m) < 2;
ALTER TABLE rowlock.meta
    ADD COLUMN IF NOT EXISTS only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one);
DROP INDEX IF EXISTS rowlock.meta_one_row;
ALTER TABLE rowlock.origin
    ADD COLUMN IF NOT EXISTS only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one);
DROP INDEX IF EXISTS rowlock.origin_one_row;
-- the parameters of these functions have changed
DROP FUNCTION IF EXISTS rowlock.insert_lease(bigint, text, text, bigint, text, bigint, text, text);
DROP FUNCTION IF EXISTS rowlock.try_grant(text, text, bigint);
DROP FUNCTION IF EXISTS rowlock.holder(text);
-- least tokens may be too great if a restore of the older version's tables bypassed the triggers
DO $$
BEGIN
    IF pg_catalog.to_regclass('rowlock.least_token') IS NOT NULL THEN
        DELETE FROM rowlock.least_token;
    END IF;
END $$;
-- A waiter has rowlock.waiter locked while it waits. Then the CHECK stays: it costs little.
DO $$
BEGIN
    LOCK TABLE rowlock.waiter IN ACCESS EXCLUSIVE MODE NOWAIT;
    ALTER TABLE rowlock.waiter DROP CONSTRAINT IF EXISTS waiter_mode_check;
EXCEPTION WHEN lock_not_available THEN
    NULL;
END $$;
