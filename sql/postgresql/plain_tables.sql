-- Returns 1 if the database has rowlock's tables for odbc: and jdbc: URLs, in any schema.
SELECT CASE WHEN EXISTS (SELECT FROM pg_catalog.pg_class c
                           JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
                          WHERE n.nspname <> 'rowlock' AND c.relname = 'rowlock_meta'
                            AND c.relkind = 'r') THEN 1 ELSE 0 END;
