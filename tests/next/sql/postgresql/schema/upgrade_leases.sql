-- Changes the table of the leases. Every renewal waits for this. So rowlock schema upgrade commits
-- it before it continues, and then this does nothing, because renewals would wait for the other
-- pieces too. (The script of ALTER EXTENSION is one transaction.)
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_catalog.pg_attribute a
                WHERE a.attrelid = 'rowlock.lease'::regclass::oid AND a.attname = 'grade') THEN
        RETURN;
    END IF;
    -- While this waits for a transaction that uses the table, every other session waits behind it.
    -- So it gives up soon, and the caller repeats it.
    SET LOCAL lock_timeout = '500ms';
    ALTER TABLE rowlock.lease
        ADD COLUMN {added rowlock.lease grade};
END $$;
