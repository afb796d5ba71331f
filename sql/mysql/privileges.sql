-- As sql/mariadb/privileges.sql.
{privileges_shown}
UNION ALL
SELECT CONCAT('PROCEDURE ', o.routine_name), 'EXECUTE', NULL
  FROM information_schema.role_routine_grants o -- routines omits those of a role
 WHERE o.routine_schema = DATABASE() AND o.routine_name LIKE 'rowlock\_%'
   AND FIND_IN_SET('Execute', o.privilege_type) > 0
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
