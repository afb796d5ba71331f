-- SPDX-License-Identifier: Apache-2.0
-- Technique native: the name lock is the transaction-level advisory lock of rowlock.key(name). The
-- queue is fair, shared and exclusive mode exist, and nothing is written.

-- Several names are locked in the order of their keys, because two names may have the same key.
CREATE FUNCTION rowlock.rank(name text) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT rowlock.key(name)
$$;

CREATE FUNCTION rowlock.can_share() RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT true
$$;

CREATE FUNCTION rowlock.name_lock(name text, shared boolean) RETURNS integer
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF shared THEN
        PERFORM pg_catalog.pg_advisory_xact_lock_shared(rowlock.key(name));
    ELSE
        PERFORM pg_catalog.pg_advisory_xact_lock(rowlock.key(name));
    END IF;
    RETURN 0;
END $$;

CREATE FUNCTION rowlock.try_name_lock(name text, shared boolean) RETURNS integer
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF shared THEN
        RETURN CASE WHEN pg_catalog.pg_try_advisory_xact_lock_shared(rowlock.key(name)) THEN 0
            ELSE 1 END;
    END IF;
    RETURN CASE WHEN pg_catalog.pg_try_advisory_xact_lock(rowlock.key(name)) THEN 0 ELSE 1 END;
END $$;

-- Begins and locks one name exclusively, without a time limit; the most frequent call. The lock is
-- in a condition, because an expression costs less than a statement; it is never NULL. Its key is
-- rowlock.key(name), written out because each function in an expression is looked up again in every
-- transaction. The check for leases is a separate statement, so that it reads what was committed
-- during the wait for the lock. A session that has to wait runs the check once before: otherwise
-- all sessions behind it would wait while it plans.
CREATE FUNCTION rowlock.begin_one(name text)
RETURNS integer LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF pg_catalog.pg_try_advisory_xact_lock(
           pg_catalog.hashtextextended(name COLLATE "C", 32210706056045419)) THEN
        {look_for_leases};
    END IF;
    FOR attempt IN 1..2 LOOP
        IF attempt = 2 AND pg_catalog.pg_advisory_xact_lock(
               pg_catalog.hashtextextended(name COLLATE "C", 32210706056045419)) IS NULL THEN
            RETURN 1;
        END IF;
        PERFORM FROM rowlock.lease l WHERE l.name = begin_one.name;
        IF FOUND AND attempt = 2 THEN
            RETURN rowlock.look(name, false);
        END IF;
    END LOOP;
    RETURN 0;
END $$;

-- The same with a time limit: tries first, and sets a timeout only if it has to wait.
CREATE FUNCTION rowlock.begin_one(name text, wait_ms bigint)
RETURNS integer LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF NOT pg_catalog.pg_try_advisory_xact_lock(
               pg_catalog.hashtextextended(name COLLATE "C", 32210706056045419)) THEN
        RETURN rowlock.begin_name(name, wait_ms);
    END IF;
    {look_for_leases};
END $$;

-- Grants one name exclusively, without waiting, when no lease conflicts and no waiter queues; the
-- most frequent grant. Returns the token alone; in any other case the answer of grant_any as
-- status:token:number:detail. The remarks at begin_one apply here too. The session lock is that of
-- session_lock (queue.sql), written out because the call would cost more than the lock.
CREATE FUNCTION rowlock.grant_one(name text, owner text, ttl_ms bigint, session bigint, host text,
                                  pid bigint, command text, note text) RETURNS text
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    drawn bigint;
    lowest bigint;
    quiet_ms bigint;
BEGIN
    IF pg_catalog.pg_try_advisory_xact_lock(
           pg_catalog.hashtextextended(name COLLATE "C", 32210706056045419)) THEN
        SELECT pg_catalog.nextval('rowlock.number'),
               greatest(pg_catalog.pg_sequence_last_value('rowlock.lifted'), s.token, 0::bigint),
               o.quiet_ms
          INTO drawn, lowest, quiet_ms
          FROM rowlock.lift o
          LEFT JOIN rowlock.least_token s ON s.name = grant_one.name
         WHERE
           {unheld grant_one.name}
           AND NOT EXISTS (SELECT FROM rowlock.waiter w WHERE w.name = grant_one.name);
    END IF;
    IF (drawn > lowest) IS NOT TRUE THEN
        RETURN (SELECT g.status::text || ':' || coalesce(g.token, 0::bigint)::text || ':'
                       || coalesce(g.number, 0::bigint)::text || ':' || coalesce(g.detail, '')
                  FROM rowlock.grant_any(
                           pg_catalog.encode(pg_catalog.convert_to(grant_one.name, 'UTF8'), 'hex')
                               || ':x:0:0',
                           owner, ttl_ms, 0, 0, session, host, pid, command, note) g);
    END IF;
    IF pg_catalog.current_setting('synchronous_commit') <> 'on' THEN
        PERFORM rowlock.make_durable();
    END IF;
    IF drawn % 127::bigint = 0 THEN
        PERFORM rowlock.store_least(name, drawn);
    END IF;
    INSERT INTO rowlock.lease (token, name, mode, owner, host, pid, command, note, expires,
                               quiet_until)
    VALUES (drawn, grant_one.name, 'exclusive', grant_one.owner, grant_one.host, grant_one.pid,
            grant_one.command, grant_one.note,
            pg_catalog.clock_timestamp() + ttl_ms::double precision * interval '1 ms',
            pg_catalog.clock_timestamp() + quiet_ms::double precision * interval '1 ms');
    RETURN CASE WHEN session = pg_catalog.pg_backend_pid()
                     AND CASE WHEN pg_catalog.length(pg_catalog.current_setting(
                                       'rowlock.session_locks', true)) > 400 THEN false
                              WHEN pg_catalog.pg_try_advisory_lock(pg_catalog.hashint8extended(
                                       drawn, 8386112019297791602))
                              THEN pg_catalog.set_config('rowlock.session_locks',
                                       pg_catalog.concat(pg_catalog.current_setting(
                                           'rowlock.session_locks', true), ',', drawn, ','),
                                       false) IS NULL END
                THEN NULL ELSE drawn::text END;
END $$;

-- Replaces the function of door.sql, for a name without a conflicting lease; it is the most
-- frequent call of SQL clients. In any other case (a token, a standby, another isolation level, an
-- invalid name, a lease) it calls the general function, which takes the lock again at almost no
-- cost, and reports the reason. convert_to rejects text that is not UTF-8, which a database of
-- encoding SQL_ASCII accepts. The remarks at begin_one apply here too; CASE guarantees the order of
-- evaluation.
CREATE OR REPLACE FUNCTION rowlock.exclusive(name text, token bigint DEFAULT NULL) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF (CASE WHEN token IS NULL AND NOT pg_catalog.pg_is_in_recovery()
                  AND pg_catalog.current_setting('transaction_isolation') = 'read committed'
                  AND pg_catalog.octet_length(pg_catalog.convert_to(name, 'UTF8')) BETWEEN 1 AND 255
             THEN pg_catalog.pg_advisory_xact_lock(
                     pg_catalog.hashtextextended(name COLLATE "C", 32210706056045419)) IS NOT NULL
        END) THEN
        PERFORM FROM rowlock.lease l WHERE l.name = exclusive.name COLLATE "C";
        IF NOT FOUND THEN
            RETURN;
        END IF;
    END IF;
    PERFORM rowlock.lock_one(name COLLATE "default", false, token);
END $$;

{no_rows};

-- This technique leaves no row that holds a name.
CREATE FUNCTION rowlock.leftover(name text) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN NULL;
END $$;

-- Lists the sessions that wait for a name lock, by the key of the name.
CREATE FUNCTION rowlock.blocked() RETURNS TABLE (key bigint, pid integer, mode text)
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN QUERY
        SELECT w.classid::bigint << 32 | w.objid::bigint, w.pid,
               CASE w.mode WHEN 'ShareLock' THEN 'shared' ELSE 'exclusive' END
          FROM pg_catalog.pg_locks w
         WHERE w.locktype = 'advisory' AND NOT w.granted AND w.objsubid = 1
           AND w.database = (SELECT d.oid FROM pg_catalog.pg_database d
                             WHERE d.datname = pg_catalog.current_database());
END $$;

CREATE FUNCTION rowlock.waiting(name text) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN (SELECT pg_catalog.count(*) FROM pg_catalog.pg_locks w
             WHERE w.locktype = 'advisory' AND NOT w.granted AND w.objsubid = 1
               AND w.database = (SELECT d.oid FROM pg_catalog.pg_database d
                                 WHERE d.datname = pg_catalog.current_database())
               AND w.classid = ((rowlock.key(waiting.name) >> 32) & 4294967295)::oid
               AND w.objid = (rowlock.key(waiting.name) & 4294967295)::oid);
END $$;

CREATE FUNCTION rowlock.vacuum_names() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN 0;
END $$;

UPDATE rowlock.meta SET technique = 'native';
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA rowlock FROM PUBLIC;
