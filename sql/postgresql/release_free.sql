-- Alone, without BEGIN: ends a lease that has not expired, leaves no row in the history, and has no
-- queue, as rowlock.end_lease does; in any other case it returns no row. Its COMMIT does not wait
-- for the disk. No session waits for its session lock, which this session has if it is $4.
DELETE FROM rowlock.lease l
 WHERE l.token = $1::bigint AND l.token > 0 AND l.name COLLATE "default" = {given $2}
   AND l.owner = $3::text AND l.n <= 0 AND l.alone AND NOT l.queued AND NOT l.stop
   AND l.quiet_until > pg_catalog.clock_timestamp() AND l.expires > pg_catalog.clock_timestamp()
   AND pg_catalog.set_config('synchronous_commit', 'off', true) IS NOT NULL
RETURNING CASE WHEN $4::bigint = pg_catalog.pg_backend_pid()
               THEN pg_catalog.pg_advisory_unlock({session_key_of token})::integer * 0 ELSE 0 END;
