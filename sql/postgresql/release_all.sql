-- Group commit: the releases of several leases, TOKEN:HEX(name):owner joined by commas, as
-- release_free; each token that it ended. It skips rows that others have locked.
DELETE FROM rowlock.lease d
 WHERE (d.name, d.n) IN (
        SELECT l.name, l.n
          FROM (SELECT pg_catalog.split_part(t.lease, ':', 1)::bigint AS token,
                       {from_hex pg_catalog.split_part(t.lease, ':', 2)} AS name,
                       pg_catalog.split_part(t.lease, ':', 3) AS owner
                  FROM pg_catalog.unnest(pg_catalog.string_to_array($1::text, ',')) t (lease)) a,
               LATERAL (SELECT o.name, o.n FROM rowlock.lease o
                         WHERE o.token = a.token AND o.token > 0
                           AND o.name COLLATE "default" = a.name AND o.owner = a.owner
                           AND o.n <= 0 AND o.alone AND NOT o.queued AND NOT o.stop
                           AND o.quiet_until > pg_catalog.clock_timestamp()
                           AND o.expires > pg_catalog.clock_timestamp()
                           FOR UPDATE SKIP LOCKED) l)
RETURNING token;
