-- How long a waiter has waited that queued at the time %, in milliseconds.
greatest(0, ({in_ms pg_catalog.clock_timestamp() - %})::bigint)
