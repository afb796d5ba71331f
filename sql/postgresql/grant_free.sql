-- Behind try_name: a statement of its own, so that it reads what was committed before the name lock
-- was taken. One name, exclusively, if no lease conflicts and no waiter queues. Sent only where the
-- session encoding is UTF-8, to the technique native. In any other case it returns no row, and
-- rowlock.grant_lease decides. The session lock is that of rowlock.session_lock.
INSERT INTO rowlock.lease (token, name, mode, owner, host, pid, command, note, expires, quiet_until)
SELECT n.number, n.name, 'exclusive', $2::text, $5::text, $6::bigint, $7::text, $8::text,
       pg_catalog.clock_timestamp() + {interval $3::bigint},
       pg_catalog.clock_timestamp() + {interval n.quiet_ms}
  FROM (SELECT pg_catalog.nextval('rowlock.number') AS number, k.name, o.quiet_ms, s.token AS least
          FROM (SELECT $1::text COLLATE "C" AS name) k
         CROSS JOIN rowlock.lift o
          LEFT JOIN rowlock.least_token s ON s.name = k.name
         WHERE pg_catalog.current_setting('rowlock.free') = 'true' AND {unheld k.name}
           AND NOT EXISTS (SELECT FROM rowlock.waiter w WHERE w.name = k.name)) n
 WHERE n.number > greatest(pg_catalog.pg_sequence_last_value('rowlock.lifted'), n.least, 0::bigint)
   AND {store_least n}
RETURNING CASE WHEN $4::bigint = pg_catalog.pg_backend_pid()
                    AND CASE WHEN pg_catalog.length(pg_catalog.current_setting(
                                      'rowlock.session_locks', true)) > 400 THEN false
                             WHEN pg_catalog.pg_try_advisory_lock(pg_catalog.hashint8extended(
                                      token, 8386112019297791602))
                             THEN pg_catalog.set_config('rowlock.session_locks',
                                      pg_catalog.concat(pg_catalog.current_setting(
                                          'rowlock.session_locks', true), ',', token, ','),
                                      false) IS NULL END
               THEN NULL ELSE token END;
