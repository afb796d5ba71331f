-- The tokens of the expired leases that conflict with the names and modes of the row %, in order;
-- none while a live one conflicts, because it refuses anyway (permits do not, one by one).
SELECT DISTINCT k.token
  FROM (SELECT l.token, l.expires <= pg_catalog.clock_timestamp() AS expired,
               pg_catalog.bool_or(l.expires > pg_catalog.clock_timestamp()
                                  AND NOT (u.mode = 'permit' AND l.mode = 'permit')) OVER () AS kept
          FROM % w, LATERAL ROWS FROM (pg_catalog.unnest(w.names), pg_catalog.unnest(w.modes))
                            u (name, mode),
               LATERAL {leases_named u.name COLLATE "C"} l
         WHERE NOT (u.mode = 'shared' AND l.mode = 'shared')) k
 WHERE k.expired AND NOT k.kept
 ORDER BY k.token
