-- SPDX-License-Identifier: Apache-2.0
-- Row level security must hide no row of rowlock's tables from any role: the name of a hidden lease
-- would be granted again. Every table exists by now. A repeated install runs this too; an upgrade
-- runs it in a transaction of its own, because renewals wait for the change of a table.
{show_rows};

-- If it is switched on later, two policies on each table raise an error in place of a row. One is
-- restrictive, so no other policy can override it. One is permissive, because without a permissive
-- policy the server evaluates no restrictive one. It evaluates the restrictive ones in the order of
-- their names. While row level security is off, a policy costs nothing. A table that is in use gets
-- none for now: rowlock doctor names it, and an install tries again. Leases wait for the last table
-- only.
DO $$
DECLARE
    saved constant text := pg_catalog.current_setting('lock_timeout');
    each record;
BEGIN
    FOR each IN SELECT c.relname, p.name, p.kind
                  FROM pg_catalog.pg_class c,
                       (VALUES ('!rowlock', 'RESTRICTIVE'),
                               ('rowlock', 'PERMISSIVE')) p (name, kind)
                 WHERE {own_tables}
                   AND NOT EXISTS (SELECT FROM pg_catalog.pg_policy o
                                    WHERE o.polrelid = c.oid AND o.polname = p.name)
                 ORDER BY c.relname = 'lease', c.relname LOOP
        BEGIN
            PERFORM pg_catalog.set_config('lock_timeout', '100', true);
            EXECUTE pg_catalog.format('CREATE POLICY %I ON rowlock.%I AS %s '
                                      'USING (rowlock.refuse_hidden(%L))',
                                      each.name, each.relname, each.kind, each.relname);
        EXCEPTION WHEN lock_not_available THEN
            NULL;
        END;
    END LOOP;
    PERFORM pg_catalog.set_config('lock_timeout', saved, true);
END $$;
