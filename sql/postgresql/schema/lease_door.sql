-- SPDX-License-Identifier: Apache-2.0
-- SQL functions for leases, for clients without the C library: acquire, renew, release. Call each
-- as one statement outside a transaction, or COMMIT right after it: other sessions see a lease or a
-- renewal only then.

-- Checks the ttl and returns it in milliseconds.
CREATE FUNCTION rowlock.check_ttl(ttl interval) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    ms constant double precision := pg_catalog.floor({in_ms ttl});
BEGIN
    IF ms IS NULL OR ms NOT BETWEEN 1000::double precision AND 3162240000000::double precision THEN
        RAISE EXCEPTION 'rowlock: ttl must be between 1 second and 100 years, not %',
            coalesce(ttl::text, 'NULL')
            USING ERRCODE = '22023';
    END IF;
    RETURN ms::bigint;
END $$;

-- Packs the name in the format that rowlock.unpack_lease reads.
CREATE FUNCTION rowlock.pack_lease(name text, mode text, limit_ integer) RETURNS text
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF mode IS NULL OR mode NOT IN ('exclusive', 'shared', 'permit') THEN
        RAISE EXCEPTION 'rowlock: mode must be exclusive, shared or permit, not %',
            coalesce(mode, 'NULL')
            USING ERRCODE = '22023';
    ELSIF mode = 'permit' AND (limit_ IS NULL OR limit_ < 1) THEN
        RAISE EXCEPTION 'rowlock: limit_ is missing: state how many permits "%" has', name
            USING ERRCODE = '22023', HINT = 'Such as: mode => ''permit'', limit_ => 3';
    ELSIF mode <> 'permit' AND limit_ IS NOT NULL THEN
        RAISE EXCEPTION 'rowlock: limit_ requires mode permit, not %', mode
            USING ERRCODE = '22023';
    END IF;
    RETURN pg_catalog.encode(pg_catalog.convert_to(name, 'UTF8'), 'hex') || CASE mode
        WHEN 'exclusive' THEN ':x:0:0' WHEN 'shared' THEN ':s:0:0' ELSE ':p:' || limit_::text
            || ':1' END;
END $$;

-- Creates the row of the name (technique row). Returns false if another session is inserting it and
-- has not committed.
CREATE FUNCTION rowlock.prepare_soon(name text) RETURNS boolean
LANGUAGE plpgsql VOLATILE SET exit_on_error = off AS $$
BEGIN
    PERFORM rowlock.limit_wait(pg_catalog.clock_timestamp() + interval '250 ms');
    PERFORM rowlock.create_name(name);
    RETURN true;
EXCEPTION WHEN lock_not_available THEN
    RETURN false;
END $$;

-- Tries once, as the library does. If the name lock was busy and no lease conflicts, another grant
-- holds it only briefly: then it waits for the name lock up to wait_ms. It takes no session lock,
-- because the session may belong to a pooler.
CREATE FUNCTION rowlock.try_grant(wants text, name text, owner text, ttl_ms bigint, wait_ms bigint,
                                  ticket bigint, host text, pid bigint, program text, note text,
                                  OUT status integer, OUT token bigint, OUT detail text)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    limit_ms bigint := 0;
BEGIN
    FOR attempt IN 1..3 LOOP
        SELECT g.status, g.token, g.detail INTO status, token, detail
          FROM rowlock.grant_lease(wants, owner, ttl_ms, limit_ms, ticket, 0, host, pid, program,
                                   note) g;
        IF status = 5 THEN
            EXIT WHEN NOT rowlock.prepare_soon(name);
        ELSIF status = 1 AND wait_ms > 0
              AND (SELECT k.status FROM rowlock.look_lease(wants, true) k) IN (0, 4) THEN
            limit_ms := wait_ms;
        ELSE
            EXIT;
        END IF;
    END LOOP;
END $$;

-- The server knows the host of the client, but not its process. check_use raises an error above
-- READ COMMITTED, where an earlier snapshot would not show the holder of the name.
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
        rowlock.pack_lease(name COLLATE "default", mode, limit_), name COLLATE "default",
        pg_catalog.replace(pg_catalog.gen_random_uuid()::text, '-', ''), rowlock.check_ttl(ttl),
        250, 0, coalesce(pg_catalog.host(pg_catalog.inet_client_addr()), '[local]'), NULL,
        nullif(pg_catalog.current_setting('application_name'), ''), NULL);
    PERFORM pg_catalog.set_config('lock_timeout', wait_limit, true),
            pg_catalog.set_config('idle_in_transaction_session_timeout', idle, true);
    IF answer.status = 6 THEN
        PERFORM rowlock.fail(6, name);
    ELSIF answer.status = 13 THEN
        RAISE EXCEPTION 'rowlock: permits of "%": %', name, answer.detail USING ERRCODE = '22023';
    END IF;
    RETURN CASE WHEN answer.status = 0 THEN answer.token END;
END $$;
COMMENT ON FUNCTION rowlock.acquire(text, interval, text, integer) IS
    'Acquires a lease of a name and returns its token, or NULL if the name is held or waited for; '
    'tries once. mode: exclusive, shared, or permit; limit_: how many permits the name has. Do '
    'not call it inside a longer transaction: the lease exists after COMMIT, and not after '
    'ROLLBACK.';

CREATE FUNCTION rowlock.renew(token bigint, ttl interval) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    status constant integer := rowlock.renew_lease(token, rowlock.check_ttl(ttl));
BEGIN
    IF status <> 0 THEN
        RAISE EXCEPTION 'rowlock: the lease % %', token,
                        coalesce(rowlock.how_ended(token),
                                 CASE status WHEN 14 THEN 'was broken'
                                     ELSE 'has expired, or was broken or released' END)
            USING ERRCODE = 'RL005',
                HINT = 'Stop the work done under it: another session may hold it.';
    END IF;
END $$;
COMMENT ON FUNCTION rowlock.renew(bigint, interval) IS
    'Extends a lease to last ttl from now; never shortens it. Raises an error (RL005) if the '
    'lease is lost or broken: stop the work done under it. Do not call it inside a longer '
    'transaction: other sessions see the renewal after COMMIT.';

-- Leaves synchronous_commit unchanged, because it would apply to all changes of the caller's
-- transaction.
CREATE FUNCTION rowlock.release(token bigint) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    held constant boolean := rowlock.remove_lease(token);
BEGIN
    PERFORM rowlock.session_unlock(coalesce(token, 0));
    RETURN held;
END $$;
COMMENT ON FUNCTION rowlock.release(bigint) IS
    'Ends a lease and returns true; false if it was lost or had ended. Inside a transaction the '
    'lease ends at COMMIT.';
