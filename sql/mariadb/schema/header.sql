-- rowlock's schema, version {schema_version}, for MariaDB: run it with the mariadb client in the
-- database of your choice. It stops at once if rowlock is installed already, so that the technique
-- cannot change while sessions hold locks. Its own lock admits one installer at a time; an error
-- ends the client, and with it the lock. Another client must end its session too after an error.

{own_mode};

SET @rowlock_locked = GET_LOCK(CONCAT('rowlock:', MD5(DATABASE())), 86400);

DELIMITER //
BEGIN NOT ATOMIC
    DECLARE v_version INT DEFAULT 0;

    IF COALESCE(@rowlock_locked, 0) <> 1 THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT =
            'rowlock: could not lock the installation in this database';
    END IF;
    IF EXISTS (SELECT 1 FROM information_schema.tables
                WHERE table_schema = DATABASE() AND table_name = 'rowlock_meta') THEN
        SELECT COALESCE(MAX(version), 0) INTO v_version FROM rowlock_meta;
    END IF;
    IF v_version > 0 THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT =
            'rowlock is installed in this database already; to change it, stop all programs that '
            'lock and run: rowlock schema uninstall';
    END IF;
END//
DELIMITER ;

{former_mode};
