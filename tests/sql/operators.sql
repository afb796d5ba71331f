-- SPDX-License-Identifier: Apache-2.0
-- Creates operators in the schema public that raise an error when used: one for every pair of types
-- in rowlock's own functions for which the catalog has no exact operator. (An exact match wins over
-- a catalog operator that needs a cast, wherever its schema is in the search path.)
DO $$
DECLARE
    types constant text[] :=
        '{bool,int4,int8,numeric,float8,text,"char",name,varchar,bytea,'
        'oid,regclass,interval,timestamp,timestamptz,xid}';
    trap record;
BEGIN
    FOR trap IN
        SELECT o.oprname AS name, l AS left, r AS right
          FROM (SELECT DISTINCT oprname FROM pg_catalog.pg_operator
                 WHERE oprname IN ('+', '-', '*', '/', '%', '=', '<>', '<', '>', '<=', '>=', '||',
                                   '&', '|', '<<', '>>', '~~', '!~~', '~')) o,
               pg_catalog.unnest(types) l, pg_catalog.unnest(types) r
         WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_operator e
                            WHERE e.oprname = o.oprname
                              AND e.oprleft = l::regtype AND e.oprright = r::regtype)
    LOOP
        EXECUTE pg_catalog.format('CREATE OR REPLACE FUNCTION public.trap(%s, %s) RETURNS bool '
            'LANGUAGE plpgsql AS %L', trap.left, trap.right, pg_catalog.format(
            'BEGIN RAISE EXCEPTION ''an operator of public, for %%'', %L; END',
            pg_catalog.concat_ws(' and ', trap.left, trap.right)));
        EXECUTE pg_catalog.format('CREATE OPERATOR public.%s (LEFTARG = %s, RIGHTARG = %s, '
            'FUNCTION = public.trap)',
            trap.name, trap.left, trap.right);
    END LOOP;
END $$;
