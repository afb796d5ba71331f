-- rowlock's complete schema on MariaDB: run it with the mariadb client in the database of your
-- choice. It stops at once if rowlock is installed already, so that the technique cannot change
-- while sessions hold locks.

{own_mode};

DELIMITER //
BEGIN NOT ATOMIC
    IF EXISTS (SELECT 1 FROM information_schema.tables
                WHERE table_schema = DATABASE() AND table_name = 'rowlock_meta') THEN
        FOR v_row IN (SELECT technique FROM rowlock_meta WHERE version > 0) DO
            SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT =
                'rowlock is installed in this database already; to change it, stop all programs '
                'that lock and run: rowlock schema uninstall';
        END FOR;
    END IF;
END//
DELIMITER ;

{former_mode};
