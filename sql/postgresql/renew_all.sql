-- Skips a lease whose row another transaction has locked, because the others would wait too, and
-- one of several rows.
WITH free AS MATERIALIZED (
         SELECT k.token, k.until
           FROM (SELECT pg_catalog.split_part(t.lease, ':', 1)::bigint AS token,
                        {from_hex pg_catalog.split_part(t.lease, ':', 2)} AS name,
                        nullif(pg_catalog.split_part(t.lease, ':', 3), '') AS owner,
                        pg_catalog.clock_timestamp() + {interval $2::bigint} AS until
                   FROM pg_catalog.unnest(pg_catalog.string_to_array($1::text, ',')) t (lease)
                  WHERE pg_catalog.current_setting('synchronous_commit') IN ('on', 'remote_apply')
                     OR pg_catalog.set_config('synchronous_commit', 'on', true) IS NOT NULL) a,
                LATERAL (SELECT l.token, a.until FROM rowlock.lease l
                          WHERE l.token = a.token AND l.token > 0 AND l.alone AND NOT l.stop
                            AND l.name COLLATE "default" = a.name
                            AND (a.owner IS NULL OR l.owner = a.owner)
                            FOR NO KEY UPDATE SKIP LOCKED) k)
UPDATE rowlock.lease l SET expires = greatest(l.expires, f.until)
  FROM free f WHERE l.token = f.token AND l.token > 0
RETURNING l.token;
