-- SPDX-License-Identifier: Apache-2.0
-- SQL functions for psql and other clients: locks in a transaction, leases without a queue, holders
-- of a name, vacuum. (request.sql has the leases that wait.)
--
-- A key of type bigint means the name that is its decimal text. Both variants exist so that no call
-- is ambiguous: PostgreSQL resolves an untyped literal or parameter as text, and never a number.
-- COLLATE "default", here and below, drops the collation of the caller's column, because names are
-- compared as bytes.

-- Lists the holders of the name, leases first. waiting: sessions in the lease queue, or those that
-- wait for the transaction.
CREATE FUNCTION rowlock.holders(name text)
RETURNS TABLE (kind text, pid bigint, host text, program text, since text, expires text, note text,
               waiting bigint)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    iso constant text := 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"';
    locked_key constant bigint := rowlock.key(name);
BEGIN
    RETURN QUERY
        SELECT 'lease', l.pid, l.host, l.command,
               pg_catalog.to_char(l.acquired AT TIME ZONE 'UTC', iso),
               pg_catalog.to_char(l.expires AT TIME ZONE 'UTC', iso), l.note,
               (SELECT nullif(pg_catalog.count(*), 0) FROM rowlock.waiter w
                WHERE w.name = holders.name COLLATE "C"
                   AND (w.alive_until IS NULL OR w.alive_until > pg_catalog.clock_timestamp()))
          FROM {leases_named holders.name COLLATE "C"} l
         ORDER BY l.mode, l.acquired;
    RETURN QUERY
        SELECT 'transaction', t.pid::bigint, t.host, t.program,
               pg_catalog.to_char(t.since AT TIME ZONE 'UTC', iso),
               NULL::text, NULL::text,
               (SELECT pg_catalog.count(*) FROM pg_catalog.pg_locks b
                 WHERE {advisory_lock b} AND NOT b.granted
                   AND (b.classid::bigint << 32 | b.objid::bigint) = locked_key)
          FROM ({transactions}) t
         WHERE t.key = locked_key AND t.pid <> pg_catalog.pg_backend_pid()
         ORDER BY t.since, t.pid;
END $$;

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

-- Locks in a transaction --------------------------------------------------------------------------

-- Takes the name lock: 0, or 1 (may_wait is false). With a token, locks beneath the caller's own
-- lease instead: 0, 1, or 8 if the token is not, or no longer, that of such a lease. The lease's
-- row is locked as by a fence, so that renewals do not wait; the lock of the token and the name
-- keeps out other transactions with the same token. The name lock could not: a transaction may have
-- it that waits for the lease.
CREATE FUNCTION rowlock.lock_name(name text, shared boolean, token bigint, may_wait boolean)
RETURNS integer LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    key constant bigint := CASE WHEN token = 0 THEN {key_of name}
                                ELSE {session_key_of token # rowlock.key(name)} END;
BEGIN
    IF may_wait AND shared THEN
        PERFORM pg_catalog.pg_advisory_xact_lock_shared(key);
    ELSIF may_wait THEN
        PERFORM pg_catalog.pg_advisory_xact_lock(key);
    ELSIF NOT (CASE WHEN shared THEN pg_catalog.pg_try_advisory_xact_lock_shared(key)
                    ELSE pg_catalog.pg_try_advisory_xact_lock(key) END) THEN
        RETURN 1;
    END IF;
    IF token = 0 THEN
        RETURN 0;
    END IF;
    PERFORM FROM rowlock.lease l
      WHERE l.token = lock_name.token AND l.token > 0 AND l.name COLLATE "default" = lock_name.name
        AND (l.mode = 'exclusive' OR shared AND l.mode = 'shared') FOR KEY SHARE;
    RETURN CASE WHEN FOUND THEN 0 ELSE 8 END;
END $$;

-- Returns the first of these names with a conflicting lease, a live lease before an expired one.
CREATE FUNCTION rowlock.leased(names text[], modes text[], OUT name text, OUT live boolean)
LANGUAGE plpgsql VOLATILE SET enable_bitmapscan = off AS $$
BEGIN
    SELECT u.name, l.expires > pg_catalog.clock_timestamp() INTO name, live
      FROM ROWS FROM (pg_catalog.unnest(names), pg_catalog.unnest(modes)) u (name, mode),
           LATERAL {leases_named u.name COLLATE "C"} l
     WHERE NOT (u.mode = 'shared' AND l.mode = 'shared')
     ORDER BY l.expires DESC LIMIT 1;
END $$;

-- Locks names in an open transaction, all or none: after any status other than 0, the transaction
-- and its earlier locks are unchanged. wait_ms 0: a try; < 0: no limit; NULL: that of the caller's
-- lock_timeout. After the name locks it waits for leases as long as wait_ms and lease_ms both
-- allow. sweeps false: does not end expired leases in this transaction, but reports them as leases.
CREATE FUNCTION rowlock.lock(names text[], modes text[], tokens bigint[], wait_ms bigint,
                             lease_ms bigint, sweeps boolean,
                             OUT status integer, OUT name text, OUT stays integer, OUT detail text)
LANGUAGE plpgsql VOLATILE SET exit_on_error = off AS $$
DECLARE
    deadline constant timestamptz := {after wait_ms};
    may_wait constant boolean := wait_ms IS DISTINCT FROM 0;
    saved constant text := pg_catalog.current_setting('lock_timeout');
    others constant text[] := ARRAY(
        SELECT n.name FROM pg_catalog.unnest(names) WITH ORDINALITY n (name, place)
         WHERE tokens[n.place] = 0::bigint ORDER BY n.place);
    their_modes constant text[] := ARRAY(
        SELECT m.mode FROM pg_catalog.unnest(modes) WITH ORDINALITY m (mode, place)
         WHERE tokens[m.place] = 0::bigint ORDER BY m.place);
    want record;
    until timestamptz;
    pause double precision := 0.01;
BEGIN
    stays := 0;
    BEGIN
        FOREACH name IN ARRAY names LOOP
            PERFORM rowlock.check_use(name);
        END LOOP;
        IF NOT may_wait THEN
            SELECT * INTO want FROM rowlock.leased(others, their_modes);
            status := 3;
            name := want.name;
            IF want.live OR NOT sweeps AND want.name IS NOT NULL THEN
                RAISE EXCEPTION 'rowlock: leased' USING ERRCODE = 'RL100';
            END IF;
        END IF;
        FOR want IN SELECT * FROM ROWS FROM (pg_catalog.unnest(names), pg_catalog.unnest(modes),
                                             pg_catalog.unnest(tokens)) u (name, mode, token)
                     ORDER BY {key_of u.name} LOOP
            name := want.name;
            IF wait_ms < 0 THEN
                PERFORM pg_catalog.set_config('lock_timeout', '0', true);
            ELSIF wait_ms IS NOT NULL THEN
                {wait_until deadline};
            END IF;
            status := rowlock.lock_name(want.name, want.mode = 'shared', want.token, may_wait);
            IF status <> 0 THEN
                RAISE EXCEPTION 'rowlock: not locked' USING ERRCODE = 'RL100';
            END IF;
        END LOOP;
        until := least(deadline, {after lease_ms});
        LOOP
            SELECT * INTO want FROM rowlock.leased(others, their_modes);
            name := want.name;
            EXIT WHEN name IS NULL;
            CONTINUE WHEN NOT want.live AND sweeps
                AND pg_catalog.current_setting('transaction_read_only') = 'off'
                AND rowlock.sweep(others, their_modes, CASE WHEN may_wait THEN 900 ELSE 1 END);
            IF NOT may_wait OR NOT (want.live OR sweeps)
               OR pg_catalog.clock_timestamp() >= until THEN
                status := 3;
                RAISE EXCEPTION 'rowlock: leased' USING ERRCODE = 'RL100';
            END IF;
            PERFORM pg_catalog.pg_sleep(greatest(0, least(pause, coalesce(
                extract(epoch FROM until - pg_catalog.clock_timestamp()), pause))));
            pause := least(pause * 2::double precision, 0.25);
        END LOOP;
        status := 0;
        PERFORM pg_catalog.set_config('lock_timeout', saved, true);
    EXCEPTION
        WHEN SQLSTATE 'RL100' THEN
            detail := CASE WHEN status IN (1, 3) THEN rowlock.holder(name) END;
        WHEN lock_not_available THEN
            status := CASE WHEN may_wait THEN 2 ELSE 1 END;
            detail := rowlock.holder(name);
        WHEN query_canceled THEN
            status := 7;
            detail := SQLERRM;
        WHEN SQLSTATE 'RL001' THEN
            status := 9;
            detail := SQLSTATE || ' ' || SQLERRM;
        WHEN SQLSTATE 'RL002' OR read_only_sql_transaction THEN
            status := 10;
            detail := SQLSTATE || ' ' || SQLERRM;
    END;
END $$;

-- Locks one name for a SQL client. wait NULL: until lock_timeout, for a lease at most 30 s, and
-- raises an error if it is not locked then. Otherwise returns whether it is. Errors keep their own
-- SQLSTATE.
CREATE FUNCTION rowlock.lock_one(name text, mode text, token bigint, wait interval)
RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    limit_ constant interval := pg_catalog.current_setting('lock_timeout')::interval;
    answer record;
BEGIN
    PERFORM rowlock.check_use(name);
    SELECT * INTO answer FROM rowlock.lock(
        ARRAY[name], ARRAY[mode], ARRAY[coalesce(token, 0::bigint)],
        CASE WHEN wait IS NOT NULL
             THEN greatest(0, least(2147483647, pg_catalog.ceil({in_ms wait}))) END::bigint,
        CASE WHEN wait IS NULL AND limit_ > interval '0' AND limit_ < interval '30 s'
             THEN ({in_ms limit_})::bigint ELSE 30000 END, true);
    IF answer.status > 3 OR wait IS NULL AND answer.status <> 0 THEN
        PERFORM rowlock.fail(answer.status, name);
    END IF;
    RETURN answer.status = 0;
END $$;

-- The most frequent call of SQL clients, so it first tries what suffices for a name without a
-- lease. The lock is in a condition, because an expression costs less than a statement, and CASE
-- guarantees the order of evaluation. The look is a separate statement, so that it reads what was
-- committed before the lock was taken. convert_to rejects text that is not UTF-8, which a database
-- of encoding SQL_ASCII accepts. In any other case rowlock.lock takes the lock again at almost no
-- cost, and finds the reason.
CREATE FUNCTION rowlock.exclusive(name text, token bigint DEFAULT NULL) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF (CASE WHEN token IS NULL AND NOT pg_catalog.pg_is_in_recovery()
                  AND pg_catalog.current_setting('transaction_isolation') = 'read committed'
                  AND pg_catalog.octet_length(pg_catalog.convert_to(name, 'UTF8')) BETWEEN 1 AND 255
             THEN pg_catalog.pg_advisory_xact_lock({key_of name}) IS NOT NULL
        END) THEN
        PERFORM FROM rowlock.lease l WHERE l.name = exclusive.name COLLATE "C";
        IF NOT FOUND THEN
            RETURN;
        END IF;
    END IF;
    PERFORM rowlock.lock_one(name COLLATE "default", 'exclusive', token, NULL);
END $$;
COMMENT ON FUNCTION rowlock.exclusive(text, bigint) IS
    'Locks a name until the transaction ends. Waits up to lock_timeout and statement_timeout; for '
    'a lease at most 30 s. Outside a transaction block the lock lasts for this statement only. '
    'token: of your own lease on that name.';

CREATE FUNCTION rowlock.exclusive(key bigint, token bigint DEFAULT NULL) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM rowlock.exclusive(key::text, token);
END $$;
COMMENT ON FUNCTION rowlock.exclusive(bigint, bigint) IS
    'Same as rowlock.exclusive; the name is the decimal text of the key.';

CREATE FUNCTION rowlock.shared(name text, token bigint DEFAULT NULL) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM rowlock.lock_one(name COLLATE "default", 'shared', token, NULL);
END $$;
COMMENT ON FUNCTION rowlock.shared(text, bigint) IS
    'Same as rowlock.exclusive, but compatible with other shared locks.';

CREATE FUNCTION rowlock.shared(key bigint, token bigint DEFAULT NULL) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM rowlock.shared(key::text, token);
END $$;
COMMENT ON FUNCTION rowlock.shared(bigint, bigint) IS
    'Same as rowlock.shared; the name is the decimal text of the key.';

CREATE FUNCTION rowlock.try_exclusive(name text, wait interval DEFAULT '0') RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN rowlock.lock_one(name COLLATE "default", 'exclusive', NULL, coalesce(wait, '0'));
END $$;
COMMENT ON FUNCTION rowlock.try_exclusive(text, interval) IS
    'Same as rowlock.exclusive, but waits at most wait. true: locked; false: not locked, and the '
    'transaction continues.';

CREATE FUNCTION rowlock.try_exclusive(key bigint, wait interval DEFAULT '0') RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN rowlock.try_exclusive(key::text, wait);
END $$;
COMMENT ON FUNCTION rowlock.try_exclusive(bigint, interval) IS
    'Same as rowlock.try_exclusive; the name is the decimal text of the key.';

CREATE FUNCTION rowlock.try_shared(name text, wait interval DEFAULT '0') RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN rowlock.lock_one(name COLLATE "default", 'shared', NULL, coalesce(wait, '0'));
END $$;
COMMENT ON FUNCTION rowlock.try_shared(text, interval) IS
    'Same as rowlock.shared, but waits at most wait. true: locked; false: not locked, and the '
    'transaction continues.';

CREATE FUNCTION rowlock.try_shared(key bigint, wait interval DEFAULT '0') RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN rowlock.try_shared(key::text, wait);
END $$;
COMMENT ON FUNCTION rowlock.try_shared(bigint, interval) IS
    'Same as rowlock.try_shared; the name is the decimal text of the key.';

-- A lock needs no preparation here, and leaves nothing behind: these four only check the name.
CREATE FUNCTION rowlock.prepare(name text) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM rowlock.check_use(name);
END $$;
COMMENT ON FUNCTION rowlock.prepare(text) IS
    'Prepares a name where that is needed: not on this server. It may be called, so that a program '
    'is the same everywhere.';

CREATE FUNCTION rowlock.prepare(key bigint) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM rowlock.check_use(key::text);
END $$;
COMMENT ON FUNCTION rowlock.prepare(bigint) IS
    'Same as rowlock.prepare; the name is the decimal text of the key.';

CREATE FUNCTION rowlock.unlock(name text) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM rowlock.check_use(name);
END $$;
COMMENT ON FUNCTION rowlock.unlock(text) IS
    'Removes what a lock of the name leaves behind: nothing on this server. The name stays locked '
    'until the transaction ends.';

CREATE FUNCTION rowlock.unlock(key bigint) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM rowlock.check_use(key::text);
END $$;
COMMENT ON FUNCTION rowlock.unlock(bigint) IS
    'Same as rowlock.unlock; the name is the decimal text of the key.';

-- Leases ------------------------------------------------------------------------------------------

-- Call each as one statement outside a transaction, or COMMIT right after it: other sessions see a
-- lease or a renewal only then.

-- Checks the terms of a lease, and returns its ttl in milliseconds.
CREATE FUNCTION rowlock.check_terms(name text, ttl interval, mode text, limit_ integer)
RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    ms constant double precision := pg_catalog.floor({in_ms ttl});
    wrong text;
BEGIN
    IF mode IS NULL OR mode NOT IN ('exclusive', 'shared', 'permit') THEN
        wrong := 'mode must be exclusive, shared or permit, not ' || coalesce(mode, 'NULL');
    ELSIF mode = 'permit' AND coalesce(limit_, 0) < 1 THEN
        RAISE EXCEPTION 'rowlock: limit_ is missing: state how many permits "%" has', name
            USING ERRCODE = '22023', HINT = 'Such as: mode => ''permit'', limit_ => 3';
    ELSIF mode <> 'permit' AND limit_ IS NOT NULL THEN
        wrong := 'limit_ requires mode permit, not ' || mode;
    ELSIF ms IS NULL OR ms NOT BETWEEN 1000::double precision AND 3162240000000::double precision
        THEN
        wrong := 'ttl must be between 1 second and 100 years, not ' || coalesce(ttl::text, 'NULL');
    END IF;
    IF wrong IS NOT NULL THEN
        RAISE EXCEPTION 'rowlock: %', wrong USING ERRCODE = '22023';
    END IF;
    RETURN ms::bigint;
END $$;

-- Tries once, as the library does. If the name lock was busy and no lease conflicts, another grant
-- holds it only briefly: then it waits for the name lock up to wait_ms. It takes no session lock,
-- because the session may belong to a pooler. Raises an error if the limit of permits differs.
CREATE FUNCTION rowlock.try_grant(name text, mode text, limit_ integer, owner text, ttl_ms bigint,
                                  wait_ms bigint, ticket bigint, host text, pid bigint,
                                  program text, note text, OUT status integer, OUT token bigint)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    found_detail text;
BEGIN
    FOR attempt IN 1..2 LOOP
        SELECT g.status, g.token, g.detail INTO status, token, found_detail
          FROM rowlock.grant_lease(ARRAY[name], ARRAY[mode], ARRAY[limit_], ARRAY[1], owner, ttl_ms,
                                   CASE WHEN attempt = 1 THEN 0 ELSE wait_ms END, ticket, 0, host,
                                   pid, program, note) g;
        EXIT WHEN status <> 1 OR wait_ms <= 0
            OR (SELECT k.status FROM rowlock.look(name, mode, limit_, 1, ticket, true) k) <> 0;
    END LOOP;
    IF status = 13 THEN
        RAISE EXCEPTION 'rowlock: permits of "%": %', name, found_detail USING ERRCODE = '22023';
    END IF;
END $$;

-- The server knows the host of the client, but not its process.
CREATE FUNCTION rowlock.acquire(name text, ttl interval, mode text DEFAULT 'exclusive',
                                limit_ integer DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    wait_limit constant text := pg_catalog.current_setting('lock_timeout');
    idle constant text := pg_catalog.current_setting('idle_in_transaction_session_timeout');
    answer record;
BEGIN
    PERFORM rowlock.check_use(name COLLATE "default");
    SELECT * INTO answer FROM rowlock.try_grant(
        name COLLATE "default", mode, limit_,
        pg_catalog.replace(pg_catalog.gen_random_uuid()::text, '-', ''),
        rowlock.check_terms(name, ttl, mode, limit_), 250, 0,
        coalesce(pg_catalog.host(pg_catalog.inet_client_addr()), '[local]'), NULL,
        nullif(pg_catalog.current_setting('application_name'), ''), NULL);
    PERFORM pg_catalog.set_config('lock_timeout', wait_limit, true),
            pg_catalog.set_config('idle_in_transaction_session_timeout', idle, true);
    RETURN CASE WHEN answer.status = 0 THEN answer.token END;
END $$;
COMMENT ON FUNCTION rowlock.acquire(text, interval, text, integer) IS
    'Acquires a lease of a name and returns its token, or NULL if the name is held or waited for; '
    'tries once. mode: exclusive, shared, or permit; limit_: how many permits the name has. Do '
    'not call it inside a longer transaction: the lease exists after COMMIT, and not after '
    'ROLLBACK.';

-- The text says how the lease ended, if the history knows, and the caller may read it. The caller
-- that broke it has the negative token.
CREATE FUNCTION rowlock.renew(token bigint, ttl interval) RETURNS void
LANGUAGE plpgsql VOLATILE SET exit_on_error = off AS $$
DECLARE
    status constant integer :=
        rowlock.renew_lease(token, rowlock.check_terms('', ttl, 'exclusive', NULL));
    how_ended text;
BEGIN
    IF status = 0 THEN
        RETURN;
    END IF;
    BEGIN
        SELECT CASE WHEN h.token < 0
                    THEN pg_catalog.concat_ws(' ', 'was broken', 'by ' || nullif(h.command, ''),
                                              'on ' || h.host, '(pid ' || h.pid::text || ')')
                    WHEN h.how = 'revoked' THEN 'was broken'
                    WHEN h.how = 'expired' THEN 'has expired' ELSE 'was released' END
          INTO how_ended
          FROM rowlock.history h
         WHERE h.token IN (renew.token, -renew.token) AND h.how <> 'gave up'
           AND h.ended > pg_catalog.clock_timestamp() - interval '1 h'
         ORDER BY h.token LIMIT 1;
    EXCEPTION WHEN OTHERS THEN
        NULL;
    END;
    RAISE EXCEPTION 'rowlock: the lease % %', token,
                    coalesce(how_ended, CASE status WHEN 14 THEN 'was broken'
                                        ELSE 'has expired, or was broken or released' END)
        USING ERRCODE = 'RL005',
            HINT = 'Stop the work done under it: another session may hold it.';
END $$;
COMMENT ON FUNCTION rowlock.renew(bigint, interval) IS
    'Extends a lease to last ttl from now; never shortens it. Raises an error (RL005) if the '
    'lease is lost or broken: stop the work done under it. Do not call it inside a longer '
    'transaction: other sessions see the renewal after COMMIT.';

-- Leaves synchronous_commit unchanged, because it would apply to all changes of the caller's
-- transaction.
CREATE FUNCTION rowlock.release(token bigint) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN rowlock.end_lease(token);
END $$;
COMMENT ON FUNCTION rowlock.release(bigint) IS
    'Ends a lease and returns true; false if it was lost or had ended. Inside a transaction the '
    'lease ends at COMMIT.';

-- Ends the leases that expired before that time, at most `batch` (NULL: all), and deletes the
-- tickets of dead waiters, and gates without members and waiters. Waits for no lock. Returns the
-- number of leases and tickets.
CREATE FUNCTION rowlock.sweep_some(before timestamptz, batch bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    removed bigint := 0;
    dead bigint;
    gate rowlock.lease;
    names text[];
BEGIN
    FOR dead IN SELECT DISTINCT l.token FROM rowlock.lease l
                 WHERE l.token > 0 AND l.expires <= before ORDER BY l.token LIMIT batch LOOP
        -- its rows and the gates of its members, without a wait: end_lease then waits for none
        names := ARRAY(SELECT l.name FROM rowlock.lease l
                        WHERE l.token = dead AND l.token > 0 AND l.n > 0);
        CONTINUE WHEN
            (SELECT pg_catalog.count(*) FROM rowlock.lease l
              WHERE l.token = dead OR l.token = 0 AND l.name = ANY (names))
            > (SELECT pg_catalog.count(*)
                 FROM (SELECT FROM rowlock.lease l
                        WHERE l.token = dead OR l.token = 0 AND l.name = ANY (names)
                          FOR UPDATE SKIP LOCKED) f);
        removed := removed + rowlock.end_lease(dead, only_expired => true)::integer;
    END LOOP;
    FOR dead IN SELECT DISTINCT w.ticket FROM rowlock.waiter w WHERE batch IS NULL
                 ORDER BY w.ticket LOOP
        removed := removed + rowlock.remove_dead(dead)::integer;
    END LOOP;
    FOR gate IN SELECT g.* FROM rowlock.lease g WHERE g.token = 0 LIMIT batch FOR UPDATE SKIP LOCKED
        LOOP
        {close_gate};
    END LOOP;
    RETURN removed;
END $$;

CREATE FUNCTION rowlock.vacuum() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    removed constant bigint := rowlock.sweep_some(pg_catalog.clock_timestamp(), NULL);
BEGIN
    WHILE rowlock.prune(10000) = 10000 LOOP
        NULL;
    END LOOP;
    PERFORM rowlock.tidy(pg_catalog.clock_timestamp() - interval '1 day');
    RETURN removed;
END $$;
COMMENT ON FUNCTION rowlock.vacuum() IS
    'Removes expired leases and dead waiters, and returns their number.';
