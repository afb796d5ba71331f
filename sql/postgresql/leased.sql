-- SPDX-License-Identifier: Apache-2.0
-- After a grant_free without a row: the answer of rowlock.look_lease, if another owner has a live
-- lease, so that a session that finds the name leased need not load the functions of the grant.
-- With an own lease, of an earlier attempt whose reply was lost, there is no row:
-- rowlock.grant_lease adopts it.
SELECT 3, $1::text, NULL::bigint, k.token, NULL::text
  FROM (SELECT l.token,
               {expires_of l} AS expires,
               pg_catalog.bool_or(l.owner = $2::text) OVER () AS own
          FROM rowlock.lease l
         WHERE l.name = $1::text COLLATE "C"
           AND l.token + 0 >= coalesce((SELECT s.token FROM rowlock.least_token s
                                     WHERE s.name = $1::text COLLATE "C"), 0::bigint)
        OFFSET 0) k
 WHERE k.expires > pg_catalog.clock_timestamp() AND k.own IS NOT TRUE
 ORDER BY k.expires, k.token LIMIT 1;
