SELECT s.removed, rowlock.tidy(pg_catalog.clock_timestamp() - interval '1 day')
  FROM (SELECT rowlock.sweep_some(pg_catalog.clock_timestamp() - interval '1 minute', 200)
               AS removed OFFSET 0) s;
