-- As sql/mariadb/privileges.sql.
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
SELECT CONCAT('PROCEDURE ', o.routine_name), 'EXECUTE', NULL
  FROM information_schema.role_routine_grants o -- routines omits those of a role
 WHERE o.routine_schema = DATABASE() AND o.routine_name LIKE 'rowlock\_%'
   AND FIND_IN_SET('Execute', o.privilege_type) > 0
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
UNION ALL
SELECT t.table_name, 'DELETE', NULL
  FROM information_schema.tables t
 WHERE t.table_schema = DATABASE() AND t.table_name LIKE 'rowlock\_%'
   AND (EXISTS (SELECT 1 FROM information_schema.table_privileges g
                 WHERE g.table_schema = t.table_schema AND g.table_name = t.table_name
                   AND g.privilege_type = 'DELETE')
        OR EXISTS (SELECT 1 FROM information_schema.role_table_grants g
                    WHERE g.table_schema = t.table_schema AND g.table_name = t.table_name
                      AND FIND_IN_SET('Delete', g.privilege_type) > 0)
        OR EXISTS (SELECT 1 FROM information_schema.schema_privileges g
                    WHERE t.table_schema LIKE g.table_schema AND g.privilege_type = 'DELETE')
        OR EXISTS (SELECT 1 FROM information_schema.user_privileges g
                    WHERE g.privilege_type = 'DELETE'));
