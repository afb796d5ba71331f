-- SPDX-License-Identifier: Apache-2.0
-- Skips a lease whose heartbeat another transaction has locked, because the others would wait too.
WITH asked AS MATERIALIZED (
         SELECT pg_catalog.split_part(t.lease, ':', 1)::bigint AS token,
                pg_catalog.convert_from(pg_catalog.decode(pg_catalog.split_part(t.lease, ':', 2),
                                                          'hex'), 'UTF8') AS name,
                nullif(pg_catalog.split_part(t.lease, ':', 3), '') AS owner
           FROM pg_catalog.unnest(pg_catalog.string_to_array($1::text, ',')) t (lease),
                rowlock.make_durable()),
     free AS MATERIALIZED (
         SELECT b.token
           FROM asked a,
                LATERAL (SELECT h.token FROM rowlock.heartbeat h
                          WHERE h.token = a.token AND NOT h.stop FOR NO KEY UPDATE SKIP LOCKED) b
          WHERE
            {is_of a})
UPDATE rowlock.heartbeat b
   SET expires = greatest(b.expires, pg_catalog.clock_timestamp() +
                                         $2::bigint::double precision * interval '1 ms')
 WHERE b.token = ANY (ARRAY(SELECT f.token FROM free f))
RETURNING b.token;
