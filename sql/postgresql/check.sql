SELECT CASE WHEN l.token IS NULL THEN 8 WHEN l.stop THEN 14 ELSE 0 END,
       coalesce(pg_catalog.floor({in_ms l.expires - pg_catalog.clock_timestamp()}), 0)::bigint,
       CASE l.mode WHEN 'exclusive' THEN 'x' WHEN 'shared' THEN 's' ELSE 'p' END,
       {read_text l.owner}
  FROM (SELECT) one
  LEFT JOIN rowlock.lease l
    ON l.token = $2::bigint AND l.token > 0 AND l.name COLLATE "default" = {given $1}
   AND l.expires > pg_catalog.clock_timestamp();
