-- Names what this account lacks for an install or an upgrade. If another account owns the
-- procedures, that is SYSTEM_USER, without which it cannot replace those of an account that has it,
-- such as root. Otherwise it is privileges on the database, the same for each technique; an upgrade
-- alters tables.
SELECT IF(o.definer IS NULL,
          CONCAT('an administrator can allow it: GRANT CREATE, DROP, CREATE VIEW, CREATE ROUTINE, ',
                 IF(a.upgrades, 'ALTER, ', ''),
                 'ALTER ROUTINE, EXECUTE, SELECT, INSERT, UPDATE, DELETE ON `',
                 REPLACE(REPLACE(REPLACE(DATABASE(), '`', '``'), '_', '\\_'), '%', '\\%'),
                 '`.* TO ', a.account),
          CONCAT('the schema belongs to ', o.definer, ': run this as that account, or let an '
                 'administrator allow it: GRANT SYSTEM_USER ON *.* TO ', a.account)) AS advice
  FROM (SELECT CONCAT(QUOTE(LEFT(CURRENT_USER(), CHAR_LENGTH(CURRENT_USER()) -
                                 CHAR_LENGTH(SUBSTRING_INDEX(CURRENT_USER(), '@', -1)) - 1)), '@',
                      QUOTE(SUBSTRING_INDEX(CURRENT_USER(), '@', -1))) AS account,
               EXISTS (SELECT 1 FROM information_schema.tables t
                        WHERE t.table_schema = DATABASE() AND t.table_name = 'rowlock_meta')
                   AS upgrades,
               ? AS technique_is_insert) a
  LEFT JOIN (SELECT MIN(r.definer) AS definer
               FROM information_schema.routines r
              WHERE r.routine_schema = DATABASE() AND r.routine_name LIKE 'rowlock\_%'
                AND r.definer <> CURRENT_USER()) o ON TRUE;
