-- The server can write, and no earlier call has left its settings in the session.
IF @@read_only OR @@GLOBAL.wsrep_on THEN
    CALL rowlock_check_server();
END IF;
IF @rowlock_idle IS NOT NULL THEN
    CALL rowlock_restore_idle_limit();
END IF;
