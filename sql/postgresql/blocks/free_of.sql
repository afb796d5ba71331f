-- The grant of free names: the source, and the conditions, of an INSERT of exclusive leases for the
-- rows of %, which has name, owner, ttl_ms, host, pid, command, note, and the session's
-- verification: quiet_ms, origin, started, floor. c is the name's row; without one, or if the name
-- has moved, the row is inserted at the name's generation, and the unique key decides. CASE keeps
-- the name lock last. In one case of 64 it looks whether the name must move. The statement
-- continues with ON CONFLICT (name, n) DO NOTHING.
SELECT n.token, CASE WHEN pg_catalog.random() > 0.0156::double precision THEN n.n
                     ELSE coalesce(rowlock.move(n.name, n.n, n.token, false), n.n) END,
       n.name, n.owner, pg_catalog.clock_timestamp() + {interval n.ttl_ms},
       {own_now}, pg_catalog.clock_timestamp() + {interval n.quiet_ms},
       n.host, n.pid, n.command, n.note
  FROM (SELECT w.*, coalesce(c.token, 0) AS n, pg_catalog.nextval('rowlock.number') AS token
          FROM % w
          JOIN rowlock.origin o ON o.xmin = w.origin
          LEFT JOIN LATERAL (SELECT r.token FROM rowlock.lease r
                              WHERE r.name = w.name AND r.n <= 0 ORDER BY r.n LIMIT 1) c ON true
         WHERE pg_catalog.pg_postmaster_start_time() = w.started
           AND pg_catalog.current_setting('transaction_isolation') = 'read committed'
           AND pg_catalog.current_setting('synchronous_commit') IN ('on', 'remote_apply')
           AND coalesce(c.token, -1) < 0
           AND CASE WHEN pg_catalog.pg_try_advisory_xact_lock({key_of w.name}) THEN true END
        OFFSET 0) n
 WHERE n.token > n.floor
