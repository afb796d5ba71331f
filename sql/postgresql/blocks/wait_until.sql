-- Sets lock_timeout for waits up to the time % (NULL: no limit). The least value is 1 ms, because 0
-- would mean no limit.
PERFORM pg_catalog.set_config('lock_timeout',
    CASE WHEN % IS NULL THEN '0'
         ELSE greatest(1, least(2147483647, pg_catalog.ceil(
                  {in_ms % - pg_catalog.clock_timestamp()})))::bigint::text END, true)
