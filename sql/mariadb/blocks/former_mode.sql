-- Restores what own_mode has changed.
SET SESSION sql_mode = @rowlock_sql_mode, SESSION sql_safe_updates = @rowlock_safe,
    SESSION lock_wait_timeout = @rowlock_lock_wait,
    SESSION sql_select_limit = @rowlock_most, SESSION character_set_client = @rowlock_client,
    SESSION character_set_results = @rowlock_results,
    SESSION collation_connection = @rowlock_collation, @rowlock_lock_wait = NULL;
