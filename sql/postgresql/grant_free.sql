-- Alone, without BEGIN: one name, exclusively, if it is free. Parameters: name, owner, ttl_ms,
-- host, pid, command, note, the session (0: no session lock), and the answer of verify. Sent only
-- where the session encoding is UTF-8. In any other case it returns no row, and rowlock.grant_lease
-- decides.
WITH asked AS (
    SELECT $1::text COLLATE "C" AS name, $2::text AS owner, $3::bigint AS ttl_ms, $4::text AS host,
           $5::bigint AS pid, $6::text AS command, $7::text AS note, $9::xid AS origin,
           $10::text::timestamptz AS started, $11::bigint AS floor, $12::bigint AS quiet_ms)
INSERT INTO rowlock.lease (token, n, name, owner, expires, acquired, quiet_until, host, pid,
                           command, note)
{free_of asked}
    ON CONFLICT (name, n) DO NOTHING
RETURNING token, CASE WHEN $8::bigint = pg_catalog.pg_backend_pid()
                      THEN pg_catalog.pg_try_advisory_lock({session_key_of token}) END;
