-- Each object has a row 'exists'; so has '', because a role sees all objects.
WITH relation AS (
    SELECT c.oid, 'rowlock.' || c.relname::text AS name, c.relkind
      FROM pg_catalog.pg_class c
      JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace AND n.nspname = 'rowlock'
     WHERE c.relkind IN ('r', 'v', 'S')
    UNION ALL
    SELECT c.oid, o.name, c.relkind
      FROM (SELECT {given $1} AS name) o
      JOIN pg_catalog.pg_class c ON c.oid = pg_catalog.to_regclass(o.name)::oid)
SELECT '', pg_catalog.quote_ident(current_user::text), ''
UNION ALL
SELECT 'SCHEMA rowlock', 'USAGE', NULL
  FROM pg_catalog.pg_namespace n
 WHERE n.nspname = 'rowlock' AND pg_catalog.has_schema_privilege(n.oid, 'USAGE')
UNION ALL
SELECT 'ALL FUNCTIONS IN SCHEMA rowlock', 'EXECUTE', NULL
  FROM pg_catalog.pg_namespace n
 WHERE n.nspname = 'rowlock'
   AND NOT EXISTS (SELECT FROM pg_catalog.pg_proc p
                    WHERE p.pronamespace = n.oid AND p.proname <> 'lock_object'
                      AND NOT pg_catalog.has_function_privilege(p.oid, 'EXECUTE'))
UNION ALL
SELECT r.name, p.privilege, NULL
  FROM relation r
 CROSS JOIN (VALUES ('SELECT'), ('INSERT'), ('UPDATE'), ('DELETE')) p (privilege)
 WHERE r.relkind IN ('r', 'v') AND pg_catalog.has_table_privilege(r.oid, p.privilege)
UNION ALL
SELECT 'SEQUENCE ' || r.name, p.privilege, NULL
  FROM relation r CROSS JOIN (VALUES ('SELECT'), ('USAGE'), ('UPDATE')) p (privilege)
 WHERE r.relkind = 'S' AND pg_catalog.has_sequence_privilege(r.oid, p.privilege)
UNION ALL
SELECT r.name, 'UPDATE (' || a.attname::text || ')', NULL
  FROM relation r
  JOIN pg_catalog.pg_attribute a ON a.attrelid = r.oid AND a.attnum > 0 AND NOT a.attisdropped
 WHERE r.relkind = 'r' AND pg_catalog.has_column_privilege(r.oid, a.attnum, 'UPDATE')
UNION ALL
SELECT r.name, 'exists', NULL FROM relation r WHERE r.relkind <> 'S'
UNION ALL
SELECT 'SEQUENCE ' || r.name, 'exists', NULL FROM relation r WHERE r.relkind = 'S'
UNION ALL
SELECT o.name, 'exists', NULL
  FROM pg_catalog.pg_namespace n
 CROSS JOIN (VALUES ('SCHEMA rowlock'), ('ALL FUNCTIONS IN SCHEMA rowlock')) o (name)
 WHERE n.nspname = 'rowlock'
UNION ALL
SELECT '', 'exists', NULL;
