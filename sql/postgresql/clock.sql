SELECT ({in_ms pg_catalog.clock_timestamp()})::bigint;
