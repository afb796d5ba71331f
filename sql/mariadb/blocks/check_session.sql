-- Checks that the server keeps locks, and restores a limit that an earlier call left in the
-- session.
IF {reads_only} OR @@GLOBAL.wsrep_on THEN
    CALL rowlock_check_server();
END IF;
IF @rowlock_idle IS NOT NULL THEN
    CALL rowlock_restore_idle_limit();
END IF;
