-- A procedure runs in the mode in which it was created, and the literals of a view are in the
-- character set of the session. While CREATE waits for a transaction that has called the procedure,
-- every other call of it waits behind: so it gives up soon. former_mode restores these settings. An
-- install that failed has not: the limit of before it counts.
SET @rowlock_sql_mode = @@SESSION.sql_mode, @rowlock_safe = @@SESSION.sql_safe_updates,
    @rowlock_lock_wait = CAST(COALESCE(@rowlock_lock_wait,
                                       @@SESSION.lock_wait_timeout) AS UNSIGNED),
    @rowlock_most = @@SESSION.sql_select_limit, @rowlock_client = @@SESSION.character_set_client,
    @rowlock_results = @@SESSION.character_set_results,
    @rowlock_collation = @@SESSION.collation_connection;
SET SESSION sql_mode = 'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION',
    SESSION lock_wait_timeout = 1, SESSION sql_safe_updates = 0,
    SESSION sql_select_limit = 18446744073709551615;
SET NAMES utf8mb4;
