-- After a grant_free without a row. If another owner has a live lease of the name, this gives the
-- answer of rowlock.look_lease, and the session need not load the functions of the grant. There is
-- no row with an own lease, of an attempt whose reply was lost: rowlock.grant_lease adopts it and
-- commits. Where no standby confirms a COMMIT, an answer here would be taken for a connection that
-- works again, and the acquire would never end.
SELECT 3, $1::text, NULL::bigint, k.token, NULL::text
  FROM (SELECT l.token, {expires_of l} AS expires,
               pg_catalog.bool_or(l.owner = $2::text) OVER () AS own
          FROM rowlock.lease l
         WHERE {leases_named $1::text COLLATE "C"}
        OFFSET 0) k
 WHERE k.expires > pg_catalog.clock_timestamp() AND k.own IS NOT TRUE
 ORDER BY k.expires, k.token LIMIT 1;
