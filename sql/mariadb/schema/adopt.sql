-- Checks existing tables before an install creates anything, because CREATE ... IF NOT EXISTS
-- accepts any table of the name. A trigger of another account could change the data, a foreign key
-- could delete it, and other storage engines have no transactions. (An install replaces views and
-- procedures. An account without the privilege TRIGGER sees no triggers.)

{own_mode};

DELIMITER //
BEGIN NOT ATOMIC
    DECLARE v_reason VARCHAR(500) CHARACTER SET utf8mb4;

    SELECT MIN(h.reason) INTO v_reason FROM (
        SELECT CONCAT('the table ', t.table_name, ' already exists, and its engine is ', t.engine,
                      '; drop it, or run: ALTER TABLE ', t.table_name, ' ENGINE = InnoDB') AS reason
          FROM information_schema.tables t
         WHERE t.table_schema = DATABASE() AND t.table_name LIKE 'rowlock\_%'
           AND t.table_type = 'BASE TABLE'
           AND t.engine <> 'InnoDB'
        UNION ALL
        SELECT CONCAT('the table ', t.event_object_table, ' has the trigger ', t.trigger_name,
                      ' of ', t.definer, ', which would run with every lock; run: DROP TRIGGER ',
                      t.trigger_name)
          FROM information_schema.triggers t
         WHERE t.event_object_schema = DATABASE() AND t.event_object_table LIKE 'rowlock\_%'
        UNION ALL
        SELECT CONCAT('the table ', k.table_name, ' of ', k.constraint_schema, ' refers to ',
                      k.referenced_table_name, '; run: ALTER TABLE ', k.constraint_schema, '.',
                      k.table_name, ' DROP FOREIGN KEY ', k.constraint_name)
          FROM information_schema.referential_constraints k
         WHERE k.unique_constraint_schema = DATABASE() AND k.referenced_table_name LIKE 'rowlock\_%'
        UNION ALL
        SELECT CONCAT('the table ', k.table_name, ' has the foreign key ', k.constraint_name,
                      '; run: ALTER TABLE ', k.table_name, ' DROP FOREIGN KEY ', k.constraint_name)
          FROM information_schema.referential_constraints k
         WHERE k.constraint_schema = DATABASE() AND k.table_name LIKE 'rowlock\_%') h;
    IF v_reason IS NOT NULL THEN
        SET v_reason = LEFT(CONCAT('rowlock: ', v_reason), 500);
        SIGNAL SQLSTATE 'RL003' SET MYSQL_ERRNO = 30003, MESSAGE_TEXT = v_reason;
    END IF;
END//
DELIMITER ;

{former_mode};
