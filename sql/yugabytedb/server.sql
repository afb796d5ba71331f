-- rowlock.check_use verifies inside the transaction that READ COMMITTED is in effect.
SELECT CASE
    WHEN pg_catalog.pg_is_in_recovery()
        THEN 'it is a standby: locks there would not exclude other sessions'
    WHEN pg_catalog.version() !~ 'YB-20(2[5-9]|[3-9][0-9])'
        THEN 'it is older than YugabyteDB 2025.1, the first version with advisory locks' END;
