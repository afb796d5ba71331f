-- MySQL's version of a procedure in sql/mariadb/schema/install.sql: without Galera.
-- rowlock_in_transaction, which MariaDB does not need, belongs to the same block: no empty line may
-- separate them.

-- Only a writable server keeps locks: a lock on a replica excludes no other session.
DROP PROCEDURE IF EXISTS rowlock_check_server//
CREATE PROCEDURE rowlock_check_server()
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    IF @@read_only THEN
        SIGNAL SQLSTATE 'RL002' SET MESSAGE_TEXT =
            'rowlock: this server is read-only, perhaps a replica: locks here would not exclude '
            'other sessions';
    END IF;
END//
-- Sets @rowlock_open. MySQL refuses to set the mode of the next transaction while one is open;
-- otherwise this sets the session's mode, which the next one has anyway.
DROP PROCEDURE IF EXISTS rowlock_in_transaction//
CREATE PROCEDURE rowlock_in_transaction()
    SQL SECURITY INVOKER READS SQL DATA
BEGIN
    DECLARE EXIT HANDLER FOR 1568 SET @rowlock_open = 1;

    SET @@transaction_read_only = @@SESSION.transaction_read_only;
    SET @rowlock_open = 0;
END//
