-- rowlock.check_use verifies inside the transaction that READ COMMITTED is in effect.
SELECT CASE WHEN pg_catalog.pg_is_in_recovery()
    THEN 'it is a standby: locks there would not exclude other sessions' END;
