-- The privileges are the same for each technique.
SELECT CONCAT('an administrator can allow it: GRANT CREATE, DROP, CREATE VIEW, CREATE ROUTINE, '
              'ALTER ROUTINE, EXECUTE, ',
              'SELECT, INSERT, UPDATE, DELETE ON `',
              REPLACE(REPLACE(REPLACE(DATABASE(), '`', '``'), '_', '\\_'), '%', '\\%'), '`.* TO ',
              QUOTE(LEFT(a.name, CHAR_LENGTH(a.name) - CHAR_LENGTH(a.host) - 1)), '@',
              QUOTE(a.host)) AS advice
  FROM (SELECT CURRENT_USER() AS name, SUBSTRING_INDEX(CURRENT_USER(), '@', -1) AS host,
        ? AS technique_is_insert) a;
