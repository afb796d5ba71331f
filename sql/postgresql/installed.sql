-- Returns 1 if a rowlock schema of any version exists. A view meta is not rowlock's: to read it
-- would run what its owner wrote.
SELECT CASE WHEN EXISTS (SELECT FROM pg_catalog.pg_class c
                           JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
                          WHERE n.nspname = 'rowlock' AND c.relname = 'meta'
                            AND c.relkind = 'r') THEN 1 ELSE 0 END;
