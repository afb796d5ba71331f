-- SPDX-License-Identifier: Apache-2.0
-- Technique native: a name is the transaction-level advisory lock of rowlock.key(name). The queue is
-- fair, both modes exist, nothing is written and nothing is left.

-- The order in which several names are locked: that of the number, for two names may share one.
CREATE FUNCTION rowlock.rank(name text) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT rowlock.key(name)
$$;

-- Has this technique a shared T?
CREATE FUNCTION rowlock.can_share() RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT true
$$;

-- T: waits as lock_timeout says. 0.
CREATE FUNCTION rowlock.take(name text, shared boolean) RETURNS integer
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF shared THEN
        PERFORM pg_catalog.pg_advisory_xact_lock_shared(rowlock.key(name));
    ELSE
        PERFORM pg_catalog.pg_advisory_xact_lock(rowlock.key(name));
    END IF;
    RETURN 0;
END $$;

-- T at once or not at all: 0 or 1.
CREATE FUNCTION rowlock.try_take(name text, shared boolean) RETURNS integer
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF shared THEN
        RETURN CASE WHEN pg_catalog.pg_try_advisory_xact_lock_shared(rowlock.key(name)) THEN 0 ELSE 1 END;
    END IF;
    RETURN CASE WHEN pg_catalog.pg_try_advisory_xact_lock(rowlock.key(name)) THEN 0 ELSE 1 END;
END $$;

-- Begin-and-lock of one name, exclusively, however long it takes: the call that every transaction pays. The
-- lock stands in a condition because an expression costs less than a statement; it is never NULL, and its
-- number is rowlock.key(name), written out: each function in an expression is looked up anew in every
-- transaction. The look is a statement of its own: it reads what was committed while the lock was waited for.
CREATE FUNCTION rowlock.begin_one(name text)
RETURNS integer LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF pg_catalog.pg_advisory_xact_lock(
           pg_catalog.hashtextextended(name COLLATE "C", 32210706056045419)) IS NULL THEN
        RETURN 1;
    END IF;
    PERFORM FROM rowlock.lease l WHERE l.name = begin_one.name;
    IF FOUND THEN
        RETURN rowlock.look(name, false);
    END IF;
    RETURN 0;
END $$;

-- The same with an end to the wait: tries first, and sets a time-out only if it has to.
CREATE FUNCTION rowlock.begin_one(name text, wait_ms bigint)
RETURNS integer LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF NOT pg_catalog.pg_try_advisory_xact_lock(
               pg_catalog.hashtextextended(name COLLATE "C", 32210706056045419)) THEN
        RETURN rowlock.begin_rare(name, wait_ms);
    END IF;
    PERFORM FROM rowlock.lease l WHERE l.name = begin_one.name;
    IF FOUND THEN
        RETURN rowlock.look(name, false);
    END IF;
    RETURN 0;
END $$;

-- The door's most frequent call, as door.sql has it, but written out in one function: a name that no lease
-- is in the way of. On whatever else it finds (a token, a standby, another isolation level, a bad or a long
-- name, a lease) it goes the long way, which takes the lock once more, at no cost, and says what is wrong.
-- convert_to refuses what is not UTF-8, which a database of encoding SQL_ASCII lets in. What is said of begin_one is true here, too; CASE
-- keeps the order.
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

-- Makes a name known, in a transaction of its own before it is locked; here there is nothing to do.
CREATE FUNCTION rowlock.prepare(name text) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM rowlock.check_use(name);
END $$;
COMMENT ON FUNCTION rowlock.prepare(text) IS
    'Makes a name known, where the technique wants that before the first lock later in a transaction. Before BEGIN.';

-- Removes what a lock of the name leaves behind; here that is nothing.
CREATE FUNCTION rowlock.unlock(name text) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM rowlock.check_use(name);
END $$;
COMMENT ON FUNCTION rowlock.unlock(text) IS
    'Removes what a lock of the name leaves behind: under this technique nothing. The name stays locked until the transaction ends.';

-- The committed row that holds the name, for people; this technique knows none.
CREATE FUNCTION rowlock.leftover(name text) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN NULL;
END $$;

-- Which sessions wait, by the key of a name.
CREATE FUNCTION rowlock.blocked() RETURNS TABLE (key bigint, pid integer, mode text)
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN QUERY
        SELECT w.classid::bigint << 32 | w.objid::bigint, w.pid,
               CASE w.mode WHEN 'ShareLock' THEN 'shared' ELSE 'exclusive' END
          FROM pg_catalog.pg_locks w
         WHERE w.locktype = 'advisory' AND NOT w.granted AND w.objsubid = 1
           AND w.database = (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database());
END $$;

-- How many wait for the name.
CREATE FUNCTION rowlock.waiting(name text) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN (SELECT pg_catalog.count(*) FROM pg_catalog.pg_locks w
             WHERE w.locktype = 'advisory' AND NOT w.granted AND w.objsubid = 1
               AND w.database = (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database())
               AND w.classid = ((rowlock.key(waiting.name) >> 32) & 4294967295)::oid
               AND w.objid = (rowlock.key(waiting.name) & 4294967295)::oid);
END $$;

-- The names that the technique keeps, whoever holds them; this one keeps none.
CREATE FUNCTION rowlock.names() RETURNS SETOF text LANGUAGE plpgsql VOLATILE AS $$
BEGIN
END $$;

-- What vacuum removes of the technique's own.
CREATE FUNCTION rowlock.vacuum_names() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN 0;
END $$;

UPDATE rowlock.meta SET technique = 'native';
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA rowlock FROM PUBLIC;
