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

-- Begins and locks one name exclusively, with a time limit; a call without one is two statements of
-- the library (name_lock, look_one). It tries first, and sets a timeout only if it has to wait. The
-- lock is in a condition, because an expression costs less than a statement. Its key is
-- rowlock.key(name), written out because each function in an expression is looked up again in every
-- transaction. The check for leases is a separate statement, so that it reads what was committed
-- before the lock was taken.
CREATE FUNCTION rowlock.begin_one(name text, wait_ms bigint)
RETURNS integer LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF NOT pg_catalog.pg_try_advisory_xact_lock(
               pg_catalog.hashtextextended(name COLLATE "C", 32210706056045419)) THEN
        RETURN rowlock.begin_name(name, wait_ms);
    END IF;
    {look_for_leases};
END $$;

-- For programs of version 1.
CREATE FUNCTION rowlock.begin_one(name text)
RETURNS integer LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN rowlock.begin_name(name, -1);
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
         WHERE {advisory_lock w} AND NOT w.granted;
END $$;

CREATE FUNCTION rowlock.vacuum_names() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN 0;
END $$;

UPDATE rowlock.meta SET technique = 'native';
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA rowlock FROM PUBLIC;
