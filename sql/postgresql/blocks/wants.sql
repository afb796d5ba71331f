-- The names of one call, from the library's format %: HEX(name):x|s|p:limit:count, joined by
-- commas (of locks HEX(name):x|s:token, where the token arrives as the limit).
(SELECT pg_catalog.array_agg({from_hex p.part[1]} ORDER BY p.place) AS names,
        pg_catalog.array_agg(CASE p.part[2] WHEN 'x' THEN 'exclusive' WHEN 's' THEN 'shared'
                                  ELSE 'permit' END ORDER BY p.place) AS modes,
        pg_catalog.array_agg(CASE WHEN p.part[2] = 'p' THEN p.part[3]::integer END
                             ORDER BY p.place) AS limits,
        pg_catalog.array_agg(CASE WHEN p.part[2] = 'p' THEN p.part[4]::integer ELSE 1 END
                             ORDER BY p.place) AS counts,
        pg_catalog.array_agg(CASE WHEN p.part[2] <> 'p' THEN p.part[3]::bigint END
                             ORDER BY p.place) AS tokens
   FROM (SELECT pg_catalog.string_to_array(u.want, ':') AS part, u.place
           FROM pg_catalog.unnest(pg_catalog.string_to_array(%, ',')) WITH ORDINALITY
                u (want, place)) p)
