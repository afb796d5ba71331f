-- Skips a lease whose heartbeat or row another transaction has locked, because the others would
-- wait too. A first renewal inserts the heartbeat, as rowlock.make_heartbeat does, and FOR UPDATE
-- skips the lease if another session is about to do so.
WITH asked AS MATERIALIZED (
         SELECT pg_catalog.split_part(t.lease, ':', 1)::bigint AS token,
                {from_hex pg_catalog.split_part(t.lease, ':', 2)} AS name,
                nullif(pg_catalog.split_part(t.lease, ':', 3), '') AS owner,
                pg_catalog.clock_timestamp() + {interval $2::bigint} AS until
           FROM pg_catalog.unnest(pg_catalog.string_to_array($1::text, ',')) t (lease),
                rowlock.make_durable()),
     first AS (
         INSERT INTO rowlock.heartbeat (token, expires, quiet_until)
         SELECT a.token, greatest(l.expires, a.until), l.quiet_until
           FROM asked a,
                LATERAL (SELECT o.expires, o.quiet_until FROM rowlock.lease o
                          WHERE o.token = a.token AND o.expires IS NOT NULL
                            AND o.name COLLATE "default" = a.name
                            AND (a.owner IS NULL OR o.owner = a.owner)
                            AND NOT EXISTS (SELECT FROM rowlock.heartbeat b
                                             WHERE b.token = a.token OFFSET 0)
                            FOR UPDATE SKIP LOCKED) l
         ON CONFLICT DO NOTHING
         RETURNING token),
     free AS MATERIALIZED (
         SELECT b.token, a.until
           FROM asked a,
                LATERAL (SELECT h.token FROM rowlock.heartbeat h
                          WHERE h.token = a.token AND NOT h.stop FOR NO KEY UPDATE SKIP LOCKED) b
          WHERE {is_of a}),
     later AS (
         UPDATE rowlock.heartbeat b SET expires = greatest(b.expires, f.until)
           FROM free f
          WHERE b.token = f.token
         RETURNING b.token)
SELECT f.token FROM first f UNION ALL SELECT l.token FROM later l;
