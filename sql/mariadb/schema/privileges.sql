-- Creates and removes one object of each kind before install changes anything: MariaDB commits
-- after each CREATE, so a missing privilege must not be found halfway, and the privileges of an
-- account's roles cannot be read.

{own_mode};

DELIMITER //
CREATE OR REPLACE PROCEDURE rowlock_installing()
    SQL SECURITY INVOKER NO SQL
BEGIN
END//
DELIMITER ;
CALL rowlock_installing();
DROP PROCEDURE rowlock_installing;

CREATE OR REPLACE SQL SECURITY INVOKER VIEW rowlock_installing_view AS SELECT 1 AS one;
DROP VIEW rowlock_installing_view;

CREATE TABLE IF NOT EXISTS rowlock_installing_table (
    only_one TINYINT NOT NULL PRIMARY KEY
) ENGINE = InnoDB;

DELIMITER //
BEGIN NOT ATOMIC
    DECLARE v_one TINYINT;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        DROP TABLE rowlock_installing_table;
        RESIGNAL;
    END;

    -- a row of an interrupted install
    DELETE FROM rowlock_installing_table;
    INSERT INTO rowlock_installing_table (only_one) VALUES (1);
    UPDATE rowlock_installing_table SET only_one = 1;
    SELECT only_one INTO v_one FROM rowlock_installing_table;
    DELETE FROM rowlock_installing_table;
END//
DELIMITER ;
DROP TABLE rowlock_installing_table;

{former_mode};
