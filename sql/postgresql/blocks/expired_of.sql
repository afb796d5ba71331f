-- The tokens of expired leases that conflict with the names and modes of the row %, in order.
SELECT DISTINCT l.token
  FROM % w, LATERAL ROWS FROM (pg_catalog.unnest(w.names), pg_catalog.unnest(w.modes))
            u (name, mode),
       LATERAL {leases_named u.name COLLATE "C"} l
 WHERE NOT (u.mode = 'shared' AND l.mode = 'shared')
   AND l.expires <= pg_catalog.clock_timestamp()
 ORDER BY l.token
