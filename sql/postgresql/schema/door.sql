-- SPDX-License-Identifier: Apache-2.0
-- SQL functions for psql and other clients: locks in a transaction, holders of a name, vacuum.
--
-- A key of type bigint means the name that is its decimal text. Both variants exist so that no call
-- is ambiguous: PostgreSQL resolves an untyped literal or parameter as text, and never a number.

-- Describes the holder of the name for the end of a sentence; NULL if none is found. It must not
-- raise an error, because a transaction whose lock was refused continues. A waiter of the owner
-- `asker` is the caller itself, and is not counted.
CREATE FUNCTION rowlock.holder(name text, asker text DEFAULT NULL) RETURNS text
LANGUAGE plpgsql VOLATILE SET exit_on_error = off AS $$
BEGIN
    RETURN (SELECT pg_catalog.concat_ws(', ', 'a ' || h.kind,
                       nullif(pg_catalog.concat_ws(' ',
                           CASE h.kind WHEN 'lease' THEN 'pid ' ELSE 'server session ' END
                               || h.pid::text,
                           CASE h.kind WHEN 'lease' THEN 'on ' ELSE 'of a client on ' END || h.host,
                           '(' || h.program || ')'), ''),
                       'since ' || h.since, 'expires ' || h.expires, 'note: ' || h.note,
                       nullif(h.waiting - CASE h.kind WHEN 'lease' THEN
                           (SELECT pg_catalog.count(*) FROM rowlock.waiter w
                             WHERE w.name = holder.name COLLATE "C" AND w.owner = asker)
                           ELSE 0::bigint END, 0)::text || ' waiting')
              FROM rowlock.holders(name) h LIMIT 1);
EXCEPTION WHEN OTHERS OR query_canceled THEN
    RETURN NULL;
END $$;

CREATE FUNCTION rowlock.fail(status integer, name text) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    CASE status
    WHEN 5 THEN
        RAISE EXCEPTION 'rowlock: the name "%" is not prepared', name USING ERRCODE = 'RL008',
            HINT = pg_catalog.format('SELECT rowlock.prepare(%L) in a transaction of its own, '
                                     'before.', name);
    WHEN 6 THEN
        RAISE EXCEPTION 'rowlock: a committed row holds "%": %', name, rowlock.leftover(name)
            USING ERRCODE = 'RL009', HINT = 'SELECT rowlock.vacuum() deletes it.';
    WHEN 7 THEN
        RAISE EXCEPTION 'rowlock: canceled while waiting for "%"', name USING ERRCODE = '57014';
    WHEN 8 THEN
        RAISE EXCEPTION
            'rowlock: the token is not, or no longer, that of a lease of "%" for this lock', name
            USING ERRCODE = 'RL005',
                HINT = 'The lease has expired or was broken or released: roll back, and stop the '
                'work done under it. Or it is shared, and the lock is exclusive.';
    ELSE
        RAISE EXCEPTION 'rowlock: "%" is held by %', name,
            coalesce(rowlock.holder(name), 'another transaction')
            USING ERRCODE = '55P03';
    END CASE;
END $$;

-- Waits until no lease of the name conflicts; the transaction keeps its locks meanwhile. It waits
-- at most 30 s, and no longer than lock_timeout, because the lease holder may be waiting for rows
-- of this transaction.
CREATE FUNCTION rowlock.wait_lease(name text, shared boolean) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    wait_limit constant interval := pg_catalog.current_setting('lock_timeout')::interval;
    until constant timestamptz := pg_catalog.clock_timestamp()
        + CASE WHEN wait_limit > interval '0' THEN least(wait_limit, interval '30 s')
            ELSE interval '30 s' END;
    wants constant text := pg_catalog.encode(pg_catalog.convert_to(name, 'UTF8'), 'hex')
        || CASE WHEN shared THEN ':s:0' ELSE ':x:0' END;
    pause double precision := 0.01;
    status integer;
BEGIN
    LOOP
        status := rowlock.look(name, shared);
        EXIT WHEN status = 0;
        IF status = 4 THEN
            EXIT WHEN rowlock.clear(wants, 1500) = 0;
        END IF;
        IF pg_catalog.clock_timestamp() >= until THEN
            PERFORM rowlock.fail(3, name);
        END IF;
        PERFORM pg_catalog.pg_sleep(least(pause,
                                          extract(epoch FROM until
                                                  - pg_catalog.clock_timestamp())));
        pause := least(pause * 2::double precision, 0.25);
    END LOOP;
END $$;

CREATE FUNCTION rowlock.lock_one(name text, shared boolean, token bigint) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    status integer;
BEGIN
    PERFORM rowlock.check_use(name);
    status := rowlock.lock_name(name, shared, coalesce(token, 0), true);
    IF status <> 0 THEN
        PERFORM rowlock.fail(status, name);
    ELSIF coalesce(token, 0) = 0 AND rowlock.look(name, shared) <> 0 THEN
        PERFORM rowlock.wait_lease(name, shared);
    END IF;
END $$;

CREATE FUNCTION rowlock.try(name text, shared boolean, wait interval) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    status integer;
BEGIN
    PERFORM rowlock.check_use(name);
    SELECT l.status INTO status FROM rowlock.lock(
        pg_catalog.encode(pg_catalog.convert_to(name, 'UTF8'), 'hex')
            || CASE WHEN shared THEN ':s:0' ELSE ':x:0' END,
        greatest(0, least(2147483647, pg_catalog.ceil({in_ms coalesce(wait, '0')})))::bigint,
        30000, 1) l;
    IF status > 4 THEN
        PERFORM rowlock.fail(status, name);
    END IF;
    RETURN status = 0;
END $$;

-- COLLATE "default", here and below, drops the collation of the caller's column, because names are
-- compared as bytes.
CREATE FUNCTION rowlock.exclusive(name text, token bigint DEFAULT NULL) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM rowlock.lock_one(name COLLATE "default", false, token);
END $$;
COMMENT ON FUNCTION rowlock.exclusive(text, bigint) IS
    'Locks a name until the transaction ends. Waits up to lock_timeout and statement_timeout; for '
    'a lease at most 30 s. Outside a transaction block the lock lasts for this statement only. '
    'token: of your own lease on that name.';

CREATE FUNCTION rowlock.exclusive(key bigint, token bigint DEFAULT NULL) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM rowlock.lock_one(key::text, false, token);
END $$;
COMMENT ON FUNCTION rowlock.exclusive(bigint, bigint) IS
    'Same as rowlock.exclusive; the name is the decimal text of the key.';

CREATE FUNCTION rowlock.shared(name text, token bigint DEFAULT NULL) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM rowlock.lock_one(name COLLATE "default", true, token);
END $$;
COMMENT ON FUNCTION rowlock.shared(text, bigint) IS
    'Same as rowlock.exclusive, but compatible with other shared locks.';

CREATE FUNCTION rowlock.shared(key bigint, token bigint DEFAULT NULL) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM rowlock.lock_one(key::text, true, token);
END $$;
COMMENT ON FUNCTION rowlock.shared(bigint, bigint) IS
    'Same as rowlock.shared; the name is the decimal text of the key.';

CREATE FUNCTION rowlock.try_exclusive(name text, wait interval DEFAULT '0') RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN rowlock.try(name COLLATE "default", false, wait);
END $$;
COMMENT ON FUNCTION rowlock.try_exclusive(text, interval) IS
    'Same as rowlock.exclusive, but waits at most wait. true: locked; false: not locked, and the '
    'transaction continues.';

CREATE FUNCTION rowlock.try_exclusive(key bigint, wait interval DEFAULT '0') RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN rowlock.try(key::text, false, wait);
END $$;
COMMENT ON FUNCTION rowlock.try_exclusive(bigint, interval) IS
    'Same as rowlock.try_exclusive; the name is the decimal text of the key.';

CREATE FUNCTION rowlock.try_shared(name text, wait interval DEFAULT '0') RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN rowlock.try(name COLLATE "default", true, wait);
END $$;
COMMENT ON FUNCTION rowlock.try_shared(text, interval) IS
    'Same as rowlock.shared, but waits at most wait. true: locked; false: not locked, and the '
    'transaction continues.';

CREATE FUNCTION rowlock.try_shared(key bigint, wait interval DEFAULT '0') RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN rowlock.try(key::text, true, wait);
END $$;
COMMENT ON FUNCTION rowlock.try_shared(bigint, interval) IS
    'Same as rowlock.try_shared; the name is the decimal text of the key.';

-- Each technique defines prepare and unlock of a name.
CREATE FUNCTION rowlock.prepare(key bigint) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM rowlock.prepare(key::text);
END $$;
COMMENT ON FUNCTION rowlock.prepare(bigint) IS
    'Same as rowlock.prepare; the name is the decimal text of the key.';

CREATE FUNCTION rowlock.unlock(key bigint) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM rowlock.unlock(key::text);
END $$;
COMMENT ON FUNCTION rowlock.unlock(bigint) IS
    'Same as rowlock.unlock; the name is the decimal text of the key.';

-- Sweeps at most `batch` leases (NULL: all) that expired before that time, and returns the number
-- of their rows. Waits for no lock.
CREATE FUNCTION rowlock.sweep_some(before timestamptz, batch bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    removed bigint := 0;
    dead bigint;
BEGIN
    FOR dead IN SELECT DISTINCT l.token FROM rowlock.lease l
                  LEFT JOIN rowlock.heartbeat b ON b.token = l.token
                 WHERE coalesce(b.expires, l.expires, '-infinity') <= before
                 ORDER BY l.token LIMIT batch LOOP
        PERFORM FROM rowlock.heartbeat b WHERE b.token = dead FOR UPDATE SKIP LOCKED;
        CONTINUE WHEN NOT FOUND AND EXISTS (SELECT FROM rowlock.heartbeat b WHERE b.token = dead);
        CONTINUE WHEN (SELECT pg_catalog.count(*) FROM rowlock.lease l WHERE l.token = dead)
            <> (SELECT pg_catalog.count(*) FROM (SELECT FROM rowlock.lease l WHERE l.token = dead
                                         FOR UPDATE SKIP LOCKED) mine);
        removed := removed + rowlock.sweep(dead);
    END LOOP;
    RETURN removed;
END $$;

-- Removes expired leases, tickets of dead waiters, and what the technique leaves behind. Waits for
-- no lock. Returns the number of deleted name rows, leases, leftover rows and tickets; heartbeats
-- and rows of the history do not count.
CREATE FUNCTION rowlock.vacuum() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    removed bigint := rowlock.vacuum_names()
        + rowlock.sweep_some(pg_catalog.clock_timestamp(), NULL::bigint);
    dead bigint;
BEGIN
    -- heartbeats without a lease row: made while the lease was released by release_free.sql
    DELETE FROM rowlock.heartbeat b
     WHERE b.token = ANY (ARRAY(
        SELECT o.token FROM rowlock.heartbeat o
         WHERE o.expires <= pg_catalog.clock_timestamp()
           AND NOT EXISTS (SELECT FROM rowlock.lease l WHERE l.token = o.token)
           FOR UPDATE SKIP LOCKED));
    FOR dead IN SELECT DISTINCT w.ticket FROM rowlock.waiter w ORDER BY w.ticket LOOP
        removed := removed + rowlock.remove_dead(dead)::integer;
    END LOOP;
    PERFORM rowlock.forget_roll_calls();
    DELETE FROM rowlock.least_token s
     WHERE s.name = ANY (ARRAY(SELECT u.name FROM rowlock.least_token u FOR UPDATE SKIP LOCKED));
    WHILE rowlock.prune(10000) = 10000 LOOP
        NULL;
    END LOOP;
    RETURN removed;
END $$;
COMMENT ON FUNCTION rowlock.vacuum() IS
    'Removes expired leases, dead waiters and rows of unheld names, and returns their number. '
    'Waits for no lock.';

-- Lists the transactions that hold a name. Every technique takes the name's advisory lock, as the
-- name lock itself or to show the holder (see rowlock.name_lock). Without the rights of
-- pg_read_all_stats a role sees only the pid and application_name of other users' sessions.
CREATE FUNCTION rowlock.transactions(name text)
RETURNS TABLE (pid bigint, host text, program text, since timestamptz, mode text)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    high constant bigint := (rowlock.key(name) >> 32) & 4294967295;
    low constant bigint := rowlock.key(name) & 4294967295;
BEGIN
    RETURN QUERY
        SELECT h.pid::bigint, coalesce(a.client_hostname, pg_catalog.host(a.client_addr)),
               nullif(a.application_name, ''), a.xact_start,
               CASE WHEN h.mode = 'ShareLock' AND m.technique = 'native' THEN 'shared'
                   ELSE 'exclusive' END
          FROM rowlock.meta m, pg_catalog.pg_locks h LEFT JOIN pg_catalog.pg_stat_activity a
              ON a.pid = h.pid
         WHERE {advisory_lock h} AND h.granted
           AND h.classid = high::oid AND h.objid = low::oid AND h.pid <> pg_catalog.pg_backend_pid()
         ORDER BY a.xact_start, h.pid;
END $$;

-- Counts the sessions that the technique lists as blocked by the name.
CREATE FUNCTION rowlock.waiting(name text) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN (SELECT pg_catalog.count(DISTINCT b.pid) FROM rowlock.blocked() b
             WHERE b.key = rowlock.key(waiting.name));
END $$;

-- Lists the holders of the name, leases first. waiting: sessions in the lease queue, or those that
-- wait for the transaction.
CREATE FUNCTION rowlock.holders(name text)
RETURNS TABLE (kind text, pid bigint, host text, program text, since text, expires text, note text,
               waiting bigint)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    iso constant text := 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"';
BEGIN
    RETURN QUERY
        SELECT 'lease', l.pid, l.host, l.command,
               pg_catalog.to_char(l.acquired AT TIME ZONE 'UTC', iso),
               pg_catalog.to_char({expires_of l} AT TIME ZONE 'UTC', iso), l.note,
               (SELECT nullif(pg_catalog.count(*), 0) FROM rowlock.waiter w
                WHERE w.name = holders.name COLLATE "C"
                   AND (w.alive_until IS NULL OR w.alive_until > pg_catalog.clock_timestamp()))
          FROM rowlock.lease l
         WHERE l.name = holders.name COLLATE "C"
         ORDER BY l.mode, l.acquired;
    RETURN QUERY
        SELECT 'transaction', t.pid, t.host, t.program,
               pg_catalog.to_char(t.since AT TIME ZONE 'UTC', iso),
               NULL::text, NULL::text, rowlock.waiting(holders.name)
          FROM rowlock.transactions(holders.name) t;
END $$;
