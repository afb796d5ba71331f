-- Alone, without BEGIN: renews a lease of one row, as rowlock.renew_lease does; in any other case
-- it returns no row.
UPDATE rowlock.lease l
   SET expires = greatest(l.expires, pg_catalog.clock_timestamp() + {interval $2::bigint})
 WHERE l.token = $1::bigint AND l.token > 0 AND l.name COLLATE "default" = {given $3}
   AND l.owner = $4::text AND l.alone AND NOT l.stop
   AND pg_catalog.current_setting('synchronous_commit') IN ('on', 'remote_apply')
RETURNING 0;
