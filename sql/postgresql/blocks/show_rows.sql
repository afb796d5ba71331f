-- Switches row level security off, which an event trigger may have switched on for a new table, and
-- a superuser for any: no row may be hidden from a role that decides by it.
DO $$
DECLARE
    each record;
BEGIN
    FOR each IN SELECT c.oid, c.relname FROM pg_catalog.pg_class c
                 WHERE {own_tables} AND (c.relrowsecurity OR c.relforcerowsecurity) LOOP
        EXECUTE pg_catalog.format('ALTER TABLE rowlock.%I DISABLE ROW LEVEL SECURITY, '
                                  'NO FORCE ROW LEVEL SECURITY', each.relname);
        IF (SELECT c.relrowsecurity OR c.relforcerowsecurity FROM pg_catalog.pg_class c
             WHERE c.oid = each.oid) THEN
            RAISE EXCEPTION
                'rowlock: row level security of rowlock.% is on again directly after it was '
                'switched off; let no event trigger (in psql: \dy) switch it on in the schema '
                'rowlock',
                            each.relname
                USING ERRCODE = 'RL003';
        END IF;
    END LOOP;
END $$;
