WITH object AS (SELECT {given $1} AS name),
     relation AS (
    SELECT c.oid, c.relname::text AS name, c.relkind FROM pg_catalog.pg_class c
      JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace AND n.nspname = 'rowlock'
    UNION ALL
    SELECT c.oid, o.name, c.relkind FROM object o
      JOIN pg_catalog.pg_class c ON c.oid = pg_catalog.to_regclass(o.name)::oid)
SELECT CASE r.relkind WHEN 'r' THEN 'table ' WHEN 'v' THEN 'view ' WHEN 'S' THEN 'sequence ' END
    || r.name
  FROM relation r WHERE r.relkind IN ('r', 'v', 'S')
UNION ALL
SELECT 'column ' || r.name || '.' || a.attname::text FROM relation r
  JOIN pg_catalog.pg_attribute a ON a.attrelid = r.oid AND a.attnum > 0 AND NOT a.attisdropped
 WHERE r.relkind = 'r'
UNION ALL
SELECT 'key ' || r.name FROM relation r
  JOIN pg_catalog.pg_index i ON i.indrelid = r.oid AND i.indisprimary AND i.indisvalid
UNION ALL
SELECT 'index ' || r.name FROM relation r JOIN pg_catalog.pg_index i
    ON i.indexrelid = r.oid AND i.indisvalid
UNION ALL
SELECT 'trigger ' || t.tgname::text FROM relation r
  JOIN pg_catalog.pg_trigger t ON t.tgrelid = r.oid AND NOT t.tgisinternal
                              AND t.tgenabled = 'A'::"char" -- every session fires it
UNION ALL
SELECT 'function ' || p.proname::text FROM pg_catalog.pg_proc p
  JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace AND n.nspname = 'rowlock';
