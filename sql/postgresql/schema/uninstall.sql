-- SPDX-License-Identifier: Apache-2.0
-- Removes all objects that install created, except the table of technique insert: see
-- drop_object.sql. (The trigger of that table is dropped with its function.) The schema may contain
-- tables of others: a role named rowlock creates its own tables there, because "$user" comes first
-- in the search path. Uninstall does not drop those, but fails until they are moved.
DO $$
DECLARE
    stranger text;
    object text;
BEGIN
    IF pg_catalog.to_regclass('rowlock.meta') IS NOT NULL THEN -- otherwise the schema is damaged
        SELECT m.object INTO object FROM rowlock.meta m WHERE m.owned;
    END IF;
    SELECT c.relname INTO stranger FROM pg_catalog.pg_class c
     WHERE c.relnamespace = 'rowlock'::pg_catalog.regnamespace::oid
       AND c.relkind IN ('r', 'p', 'v', 'm', 'S', 'f')
       AND c.relname NOT IN ('meta', 'lease', 'waiter', 'number', 'origin', 'counter', 'lifted',
                             'lifted_for', 'job', 'run', 'subject', 'expiry', 'history', 'setting',
                             'holders', 'waiters', 'names', 'jobs', 'subjects')
       AND c.oid IS DISTINCT FROM pg_catalog.to_regclass(object)::oid
     LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'the schema rowlock holds %, which rowlock did not create', stranger
            USING ERRCODE = '2BP01',
                  HINT = pg_catalog.format('ALTER TABLE rowlock.%I SET SCHEMA public', stranger);
    END IF;
END $$;
DROP SCHEMA rowlock CASCADE;
