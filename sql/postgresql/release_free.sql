-- Ends a lease that has no heartbeat, has not expired and leaves no row in the history, as
-- rowlock.release_lease does; in any other case it returns no row. Its COMMIT does not wait for the
-- disk. A heartbeat that another session is just making stays until a vacuum; without a lease it
-- means nothing.
DELETE FROM rowlock.lease l
 WHERE pg_catalog.set_config('synchronous_commit', 'off', true) IS NOT NULL
   AND l.token = $1::bigint
   AND l.name COLLATE "default" = {given $2} AND l.owner = $3::text
   AND l.quiet_until > pg_catalog.clock_timestamp() AND l.expires > pg_catalog.clock_timestamp()
   AND NOT EXISTS (SELECT FROM rowlock.heartbeat b WHERE b.token = $1::bigint OFFSET 0)
RETURNING
  {session_unlocked l.token};
