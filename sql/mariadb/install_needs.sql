-- The privileges are the same for each technique; an upgrade alters tables.
SELECT CONCAT('an administrator can allow it: GRANT CREATE, DROP, CREATE VIEW, CREATE ROUTINE, ',
              IF(a.upgrades, 'ALTER, ', ''), 'ALTER ROUTINE, EXECUTE, ',
              'SELECT, INSERT, UPDATE, DELETE ON `',
              REPLACE(REPLACE(REPLACE(DATABASE(), '`', '``'), '_', '\\_'), '%', '\\%'), '`.* TO ',
              QUOTE(LEFT(a.name, CHAR_LENGTH(a.name) - CHAR_LENGTH(a.host) - 1)), '@',
              QUOTE(a.host)) AS advice
  FROM (SELECT CURRENT_USER() AS name, SUBSTRING_INDEX(CURRENT_USER(), '@', -1) AS host,
               EXISTS (SELECT 1 FROM information_schema.tables t
                        WHERE t.table_schema = DATABASE() AND t.table_name = 'rowlock_meta')
                   AS upgrades,
               ? AS technique_is_insert) a;
