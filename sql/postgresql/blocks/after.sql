-- The time after % milliseconds; NULL: never.
CASE WHEN % >= 0 THEN pg_catalog.clock_timestamp() + {interval least(%, 2147483647)} END
