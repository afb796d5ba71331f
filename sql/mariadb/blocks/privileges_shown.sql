-- The rows of the statement privileges that the catalog shows on MariaDB and on MySQL.
SELECT '' AS object,
       CONCAT(QUOTE(LEFT(a.name, CHAR_LENGTH(a.name) - CHAR_LENGTH(a.host) - 1)), '@',
              QUOTE(a.host)) AS privilege,
       CONCAT('`', REPLACE(DATABASE(), '`', '``'), '`.') AS qualifier
  FROM (SELECT CURRENT_USER() AS name, SUBSTRING_INDEX(CURRENT_USER(), '@', -1) AS host) a
UNION ALL
SELECT CONCAT('PROCEDURE ', r.routine_name), 'EXECUTE', NULL
  FROM information_schema.routines r
 WHERE r.routine_schema = DATABASE() AND r.routine_name LIKE 'rowlock\_%'
UNION ALL
SELECT 'PROCEDURE *', g.privilege_type, NULL
  FROM (SELECT s.grantee, s.privilege_type FROM information_schema.schema_privileges s
         WHERE DATABASE() LIKE s.table_schema
        UNION ALL
        SELECT u.grantee, u.privilege_type FROM information_schema.user_privileges u) g
 WHERE g.privilege_type = 'EXECUTE'
   AND g.grantee = CONCAT('\'', REPLACE(CURRENT_USER(), '@', '\'@\''), '\'')
UNION ALL
SELECT c.table_name, UPPER(p.privilege), NULL
  FROM information_schema.columns c
 CROSS JOIN (SELECT 'select' AS privilege UNION ALL SELECT 'insert' UNION ALL SELECT 'update') p
 WHERE c.table_schema = DATABASE() AND c.table_name LIKE 'rowlock\_%'
 GROUP BY c.table_name, p.privilege
HAVING MIN(FIND_IN_SET(p.privilege, c.privileges)) > 0
