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
-- Sets @rowlock_open: outside a transaction a savepoint does not outlive its own statement.
DROP PROCEDURE IF EXISTS rowlock_in_transaction//
CREATE PROCEDURE rowlock_in_transaction()
    SQL SECURITY INVOKER MODIFIES SQL DATA
BEGIN
    DECLARE CONTINUE HANDLER FOR 1305 SET @rowlock_open = 0;

    SET @rowlock_open = 1;
    SAVEPOINT rowlock_open_point;
    RELEASE SAVEPOINT rowlock_open_point;
END//
