SELECT CONCAT(CASE t.table_type WHEN 'VIEW' THEN 'view ' WHEN 'SEQUENCE' THEN 'sequence '
              ELSE 'table ' END,
              t.table_name) AS part
  FROM information_schema.tables t
 WHERE t.table_schema = DATABASE() AND (t.table_name LIKE 'rowlock\_%' OR t.table_name = ?)
UNION ALL
SELECT CONCAT('column ', c.table_name, '.', c.column_name)
  FROM information_schema.columns c
 WHERE c.table_schema = DATABASE() AND (c.table_name LIKE 'rowlock\_%' OR c.table_name = ?)
UNION ALL
SELECT CONCAT('key ', s.table_name, IF(s.index_name = 'PRIMARY', '', CONCAT('.', s.index_name)))
  FROM information_schema.statistics s
 WHERE s.table_schema = DATABASE() AND s.table_name LIKE 'rowlock\_%' AND s.seq_in_index = 1
UNION ALL
SELECT CONCAT('procedure ', r.routine_name)
  FROM information_schema.routines r
 WHERE r.routine_schema = DATABASE() AND r.routine_name LIKE 'rowlock\_%'
   AND r.routine_type = 'PROCEDURE';
