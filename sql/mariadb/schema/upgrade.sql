-- Changes the tables of older versions to those of this one; install.sql and the pieces after it
-- then replace the procedures and create the new tables. MariaDB commits each ALTER, so this may
-- run again after an interruption: finish.sql writes the new version last. While an ALTER waits for
-- a transaction that uses the table, every other session waits behind it. So it gives up soon, and
-- the caller repeats this.

-- From version 1. The kept runs give the first counts.
ALTER TABLE rowlock_job WAIT 1
    ADD COLUMN IF NOT EXISTS {added rowlock_job runs_done};
{first_counts};
ALTER TABLE rowlock_meta WAIT 1
    ADD COLUMN IF NOT EXISTS {added rowlock_meta history};
ALTER TABLE rowlock_lease WAIT 1 ADD COLUMN IF NOT EXISTS {added rowlock_lease waited};
ALTER TABLE rowlock_lease WAIT 1
    DROP PRIMARY KEY, ADD PRIMARY KEY (name, slot, n), DROP KEY IF EXISTS rowlock_lease_name,
    ADD KEY IF NOT EXISTS rowlock_lease_token (token);
ALTER TABLE rowlock_heartbeat WAIT 1
    ADD COLUMN IF NOT EXISTS {added rowlock_heartbeat quiet_until};
