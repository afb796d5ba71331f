SELECT rowlock.sweep_some(pg_catalog.clock_timestamp() - interval '1 minute', 200)
       + rowlock.tidy(pg_catalog.clock_timestamp() - interval '1 day');
