-- SPDX-License-Identifier: Apache-2.0
-- Leases for languages that have no C: acquire, renew, release. Each is one statement outside any
-- transaction, or COMMIT follows at once: a lease exists for others from then on, and a renewal too.

-- Milliseconds, as every lease may last.
CREATE FUNCTION rowlock.check_ttl(ttl interval) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    ms constant double precision := pg_catalog.floor(extract(epoch FROM ttl)::numeric * 1000.0);
BEGIN
    IF ms IS NULL OR ms NOT BETWEEN 1000::double precision AND 3162240000000::double precision THEN
        RAISE EXCEPTION 'rowlock: a ttl must be from 1 second to 100 years, not %', coalesce(ttl::text, 'NULL')
            USING ERRCODE = '22023';
    END IF;
    RETURN ms::bigint;
END $$;

-- What rowlock.unpack_lease reads.
CREATE FUNCTION rowlock.pack_lease(name text, mode text, limit_ integer) RETURNS text
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF mode IS NULL OR mode NOT IN ('exclusive', 'shared', 'permit') THEN
        RAISE EXCEPTION 'rowlock: a lease is exclusive, shared or permit, not %', coalesce(mode, 'NULL')
            USING ERRCODE = '22023';
    ELSIF mode = 'permit' AND (limit_ IS NULL OR limit_ < 1) THEN
        RAISE EXCEPTION 'rowlock: state how many permits "%" has in all', name
            USING ERRCODE = '22023', HINT = pg_catalog.format('SELECT rowlock.acquire(%L, ''30 s'', ''permit'', 3);', name);
    ELSIF mode <> 'permit' AND limit_ IS NOT NULL THEN
        RAISE EXCEPTION 'rowlock: a limit goes with mode permit only, not with %', mode
            USING ERRCODE = '22023';
    END IF;
    RETURN pg_catalog.encode(pg_catalog.convert_to(name, 'UTF8'), 'hex') || CASE mode
        WHEN 'exclusive' THEN ':x:0:0' WHEN 'shared' THEN ':s:0:0' ELSE ':p:' || limit_::text || ':1' END;
END $$;

-- Technique row: makes the name known. False: another is just doing so, and does not commit.
CREATE FUNCTION rowlock.prepare_soon(name text) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM rowlock.limit_wait(pg_catalog.clock_timestamp() + interval '250 ms');
    PERFORM rowlock.prepare(name);
    RETURN true;
EXCEPTION WHEN lock_not_available THEN
    RETURN false;
END $$;

-- One try, as the library makes it: where no lease is in the way, another grant has T for a moment
-- only, and is waited for. Whose client this is the server knows; not its process there. No session
-- lock is taken: the session may be a pooler's.
CREATE FUNCTION rowlock.try_grant(wants text, name text, ttl_ms bigint, OUT status integer, OUT token bigint,
                                  OUT detail text)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    owner constant text := pg_catalog.replace(pg_catalog.gen_random_uuid()::text, '-', '');
    host constant text := coalesce(pg_catalog.host(pg_catalog.inet_client_addr()), '[local]');
    program constant text := nullif(pg_catalog.current_setting('application_name'), '');
    wait_ms bigint := 0;
BEGIN
    FOR attempt IN 1..3 LOOP
        SELECT g.status, g.token, g.detail INTO status, token, detail
          FROM rowlock.grant_lease(wants, owner, ttl_ms, wait_ms, 0, 0, host, NULL, program, NULL) g;
        IF status = 5 THEN
            EXIT WHEN NOT rowlock.prepare_soon(name);
        ELSIF status = 1 AND (SELECT k.status FROM rowlock.look_lease(wants, true) k) IN (0, 4) THEN
            wait_ms := 250;
        ELSE
            EXIT;
        END IF;
    END LOOP;
END $$;

-- Above READ COMMITTED it is refused: an earlier snapshot would not show who holds the name.
CREATE FUNCTION rowlock.acquire(name text, ttl interval, mode text DEFAULT 'exclusive',
                                limit_ integer DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    patience constant text := pg_catalog.current_setting('lock_timeout');
    idle constant text := pg_catalog.current_setting('idle_in_transaction_session_timeout');
    answer record;
BEGIN
    PERFORM rowlock.check_use(name COLLATE "default");
    SELECT * INTO answer FROM rowlock.try_grant(
        rowlock.pack_lease(name COLLATE "default", mode, limit_), name COLLATE "default", rowlock.check_ttl(ttl));
    PERFORM pg_catalog.set_config('lock_timeout', patience, true),
            pg_catalog.set_config('idle_in_transaction_session_timeout', idle, true);
    IF answer.status = 6 THEN
        PERFORM rowlock.fail(6, name);
    ELSIF answer.status = 13 THEN
        RAISE EXCEPTION 'rowlock: permits of "%": %', name, answer.detail USING ERRCODE = '22023';
    END IF;
    RETURN CASE WHEN answer.status = 0 THEN answer.token END;
END $$;
COMMENT ON FUNCTION rowlock.acquire(text, interval, text, integer) IS
    'A lease of a name: its token, or NULL if it is held or waited for; tries once. mode: exclusive, shared, or permit, of which the name has limit_. Not inside a longer transaction: the lease exists when this is committed, and not if it is rolled back.';

CREATE FUNCTION rowlock.renew(token bigint, ttl interval) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    status constant integer := rowlock.renew_lease(token, rowlock.check_ttl(ttl));
BEGIN
    IF status <> 0 THEN
        RAISE EXCEPTION 'rowlock: the lease % %', token,
                        CASE status WHEN 14 THEN 'was broken' ELSE 'has expired, or was broken or released' END
            USING ERRCODE = 'RL005', HINT = 'Stop what is done under it: another may have it.';
    END IF;
END $$;
COMMENT ON FUNCTION rowlock.renew(bigint, interval) IS
    'The lease shall last so long from now, and no shorter than it did. An error (RL005) if it is lost: stop what is done under it. Not inside a longer transaction: others see it when this is committed.';

-- Leaves synchronous_commit alone: it would be that of all the caller's transaction does.
CREATE FUNCTION rowlock.release(token bigint) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    held constant boolean := rowlock.remove_lease(token);
BEGIN
    PERFORM rowlock.drop_mark(coalesce(token, 0));
    RETURN held;
END $$;
COMMENT ON FUNCTION rowlock.release(bigint) IS
    'Ends a lease: true; false if it had been lost or ended before. In a transaction it ends with that one''s COMMIT.';
