-- SPDX-License-Identifier: Apache-2.0
-- What a dump carries: the rows of every table and the numbers, as of a schema that install made. Not
-- the rows that this script has written itself and writes again before a restore: meta tells of this
-- version of the functions, and a new row of origin sees to it that the numbers are lifted.
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
