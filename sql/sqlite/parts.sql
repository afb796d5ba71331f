SELECT m.type || ' ' || m.name FROM sqlite_master m
 WHERE m.type IN ('table', 'view', 'index', 'trigger')
   AND (m.name LIKE 'rowlock\_%' ESCAPE '\' OR m.name = ?1)
UNION ALL
SELECT 'column ' || m.name || '.' || p.name FROM sqlite_master m, pragma_table_info(m.name) p
 WHERE m.type = 'table' AND (m.name LIKE 'rowlock\_%' ESCAPE '\' OR m.name = ?1)
UNION ALL
SELECT DISTINCT 'key ' || m.name FROM sqlite_master m, pragma_table_info(m.name) p
 WHERE m.type = 'table' AND m.name LIKE 'rowlock\_%' ESCAPE '\' AND p.pk > 0;
