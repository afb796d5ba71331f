-- SPDX-License-Identifier: Apache-2.0
-- Changes the tables of leases of older versions, after adopt.sql has checked the owners. Every
-- renewal waits for this. So rowlock schema upgrade commits it before it continues, and no renewal
-- waits for the other pieces. The functions of the older version work with these tables too. (The
-- script of ALTER EXTENSION is one transaction.)
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_catalog.pg_attribute a
                WHERE a.attrelid = 'rowlock.lease'::regclass::oid
                  AND a.attname = 'quiet_until') THEN
        RETURN;
    END IF;
    -- While this waits for a transaction that uses the tables, every other session waits behind it.
    -- So it gives up soon, and the caller repeats it.
    SET LOCAL lock_timeout = '500ms';
    LOCK TABLE rowlock.lease, rowlock.heartbeat IN ACCESS EXCLUSIVE MODE;
    ALTER TABLE rowlock.heartbeat
        ADD COLUMN IF NOT EXISTS quiet_until timestamptz NOT NULL DEFAULT 'infinity';
    ALTER TABLE rowlock.lease DROP CONSTRAINT IF EXISTS lease_mode_check;
    -- as install.sql: a second column, and lease_token instead of the key
    DROP INDEX IF EXISTS rowlock.lease_name;
    CREATE INDEX lease_name ON rowlock.lease (name, (token + 0));
    ALTER TABLE rowlock.lease DROP CONSTRAINT IF EXISTS lease_pkey;
    ALTER TABLE rowlock.lease REPLICA IDENTITY FULL;
    CREATE INDEX IF NOT EXISTS lease_token ON rowlock.lease (token);
    ALTER TABLE rowlock.lease
        ADD COLUMN IF NOT EXISTS waited bigint NOT NULL DEFAULT 0,
        ADD COLUMN IF NOT EXISTS expires timestamptz,
        ADD COLUMN quiet_until timestamptz NOT NULL DEFAULT 'infinity'; -- last: it shows the end
END $$;
