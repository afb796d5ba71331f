-- Refuses to prepare names in an open transaction, or where no lock is kept.
IF @@in_transaction THEN
    SIGNAL SQLSTATE 'RL007' SET MYSQL_ERRNO = 30007, MESSAGE_TEXT =
        'rowlock: names must be prepared before a transaction begins, but one is open';
END IF;
CALL rowlock_check_server();
