-- SPDX-License-Identifier: Apache-2.0
-- Makes a dump contain the rows of every table and the sequences, as it does for a schema without
-- the extension. It excludes two tables whose rows this script writes itself, also before a
-- restore: meta records this version of the functions, and a new row of origin makes the first draw
-- lift the numbers.
DO $$
DECLARE
    carried oid;
BEGIN
    FOR carried IN
        SELECT c.oid FROM pg_catalog.pg_class c
         WHERE c.relnamespace = 'rowlock'::pg_catalog.regnamespace::oid
           AND c.relkind IN ('r', 'S') AND c.relname NOT IN ('meta', 'origin')
         ORDER BY c.relname COLLATE "C" LOOP
        PERFORM pg_catalog.pg_extension_config_dump(carried, '');
    END LOOP;
END $$;
