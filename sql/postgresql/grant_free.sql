-- Alone, without BEGIN: one name, exclusively, if it is free. Parameters: name, owner, ttl_ms,
-- host, pid, command, note, the session (0: no session lock), and the answer of verify. Sent only
-- where the session encoding is UTF-8. In any other case it returns no row, and rowlock.grant_lease
-- decides.
-- c is the name's row; without one, or if the name has moved, the row is inserted at the name's
-- generation, and the unique key decides. CASE keeps the name lock last. In one case of 64 it looks
-- whether the name must move.
WITH asked AS (
    SELECT $1::text COLLATE "C" AS name, $2::text AS owner, $3::bigint AS ttl_ms, $4::text AS host,
           $5::bigint AS pid, $6::text AS command, $7::text AS note, $9::xid AS origin,
           $10::text::timestamptz AS started, $11::bigint AS floor, $12::bigint AS quiet_ms)
INSERT INTO rowlock.lease (token, n, name, owner, expires, acquired, quiet_until, host, pid,
                           command, note)
SELECT n.token, CASE WHEN pg_catalog.random() > 0.0156::double precision THEN n.n
                     ELSE coalesce(rowlock.move(n.name, n.n, n.token, false), n.n) END,
       n.name, n.owner, pg_catalog.clock_timestamp() + {interval n.ttl_ms},
       {own_now}, pg_catalog.clock_timestamp() + {interval n.quiet_ms},
       n.host, n.pid, n.command, n.note
  FROM (SELECT w.*, coalesce(c.token, 0) AS n, pg_catalog.nextval('rowlock.number') AS token
          FROM asked w
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
    ON CONFLICT (name, n) DO NOTHING
RETURNING token, CASE WHEN $8::bigint = pg_catalog.pg_backend_pid()
                      THEN pg_catalog.pg_try_advisory_lock({session_key_of token}) END;
