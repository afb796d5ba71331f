-- 'PROCEDURE *' is a grant of EXECUTE on the database. The catalog does not show a DELETE that a
-- role grants, so this tries a DELETE of no row.
BEGIN NOT ATOMIC
    DECLARE v_may TEXT CHARACTER SET utf8mb4 DEFAULT ',';
    DECLARE v_denied TINYINT DEFAULT 0;
    DECLARE CONTINUE HANDLER FOR SQLEXCEPTION SET v_denied = 1;

    FOR one IN (SELECT t.table_name AS name FROM information_schema.tables t
                  WHERE t.table_schema = DATABASE() AND t.table_name LIKE 'rowlock\_%'
                    AND t.table_type = 'BASE TABLE') DO
        SET v_denied = 0;
        EXECUTE IMMEDIATE CONCAT('DELETE FROM `', one.name, '` WHERE 0');
        IF NOT v_denied THEN
            SET v_may = CONCAT(v_may, one.name, ',');
        END IF;
    END FOR;
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
     CROSS JOIN (SELECT 'select' AS privilege UNION ALL SELECT 'insert'
                 UNION ALL SELECT 'update') p
     WHERE c.table_schema = DATABASE() AND c.table_name LIKE 'rowlock\_%'
     GROUP BY c.table_name, p.privilege
    HAVING MIN(FIND_IN_SET(p.privilege, c.privileges)) > 0
    UNION ALL
    SELECT t.table_name, 'DELETE', NULL
      FROM information_schema.tables t
     WHERE t.table_schema = DATABASE() AND t.table_name LIKE 'rowlock\_%'
       AND FIND_IN_SET(t.table_name, v_may) > 0;
END;
