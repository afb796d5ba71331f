-- SPDX-License-Identifier: Apache-2.0
-- Returns 1 if a rowlock schema of any version exists.
SELECT CASE WHEN EXISTS (SELECT FROM pg_catalog.pg_class c
                           JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
                          WHERE n.nspname = 'rowlock' AND c.relname = 'meta') THEN 1 ELSE 0 END;
