-- SPDX-License-Identifier: Apache-2.0
-- Technique row: a name is a committed row, locked FOR UPDATE or FOR SHARE. Locking never inserts
-- it: two who insert one key wait for each other even where both want to share it. On PostgreSQL a
-- stream of sharers can starve an exclusive waiter under this technique; under native it cannot.

CREATE TABLE rowlock.name (name text COLLATE "C" PRIMARY KEY);

-- The order in which several names are locked: that of their bytes.
CREATE FUNCTION rowlock.rank(name text) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT 0::bigint
$$;

-- Shows to rowlock.holders who has the row; blocks nobody, decides nothing.
CREATE FUNCTION rowlock.mark(name text) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM pg_catalog.pg_try_advisory_xact_lock_shared(rowlock.key(name));
END $$;

-- Has this technique a shared T?
CREATE FUNCTION rowlock.can_share() RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT true
$$;

-- T: waits as lock_timeout says. 0, or 5. Who waited for a row that vacuum was deleting gets none,
-- though by then a new one may be there: hence the second look.
CREATE FUNCTION rowlock.take(name text, shared boolean) RETURNS integer
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    FOR attempt IN 1..3 LOOP
        IF shared THEN
            PERFORM FROM rowlock.name r WHERE r.name = take.name FOR SHARE;
        ELSE
            PERFORM FROM rowlock.name r WHERE r.name = take.name FOR UPDATE;
        END IF;
        IF FOUND THEN
            PERFORM rowlock.mark(name);
            RETURN 0;
        END IF;
    END LOOP;
    RETURN 5;
END $$;

-- T at once or not at all: 0, 1 or 5.
CREATE FUNCTION rowlock.try_take(name text, shared boolean) RETURNS integer
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF shared THEN
        PERFORM FROM rowlock.name r WHERE r.name = try_take.name FOR SHARE SKIP LOCKED;
    ELSE
        PERFORM FROM rowlock.name r WHERE r.name = try_take.name FOR UPDATE SKIP LOCKED;
    END IF;
    IF FOUND THEN
        PERFORM rowlock.mark(name);
        RETURN 0;
    END IF;
    RETURN CASE WHEN EXISTS (SELECT FROM rowlock.name r WHERE r.name = try_take.name) THEN 1 ELSE 5 END;
END $$;

-- Begin-and-lock of one name, exclusively, however long it takes.
CREATE FUNCTION rowlock.begin_one(name text)
RETURNS integer LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM FROM rowlock.name r WHERE r.name = begin_one.name FOR UPDATE;
    IF NOT FOUND THEN
        RETURN rowlock.begin_rare(name, -1);
    END IF;
    PERFORM rowlock.mark(name);
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
    PERFORM FROM rowlock.name r WHERE r.name = begin_one.name FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN rowlock.begin_rare(name, wait_ms);
    END IF;
    PERFORM rowlock.mark(name);
    PERFORM FROM rowlock.lease l WHERE l.name = begin_one.name;
    IF FOUND THEN
        RETURN rowlock.look(name, false);
    END IF;
    RETURN 0;
END $$;

-- Makes a name known, in a transaction of its own before it is locked.
CREATE FUNCTION rowlock.prepare(name text) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM rowlock.check_use(name);
    IF NOT EXISTS (SELECT FROM rowlock.name r WHERE r.name = prepare.name COLLATE "C") THEN
        INSERT INTO rowlock.name (name) VALUES (prepare.name) ON CONFLICT DO NOTHING;
    END IF;
END $$;
COMMENT ON FUNCTION rowlock.prepare(text) IS
    'Makes a name known, where the technique wants that before the first lock later in a transaction. Before BEGIN.';

-- Removes the row of a name, unless another holds it or waits for it: who waits would find it gone.
-- Whoever comes between this and COMMIT does, and is told 5.
CREATE FUNCTION rowlock.unlock(name text) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM rowlock.check_use(name);
    DELETE FROM rowlock.name r
     USING (SELECT u.name FROM rowlock.name u WHERE u.name = unlock.name COLLATE "C" FOR UPDATE SKIP LOCKED) unheld
     WHERE r.name = unheld.name AND rowlock.waiting(unlock.name) = 0;
END $$;
COMMENT ON FUNCTION rowlock.unlock(text) IS
    'Removes the row of the name when the transaction commits, unless another holds or waits for it; call it last. The name stays locked until then, and is not prepared (RL008) afterwards. Waits for nobody.';

-- The committed row that holds the name, for people; this technique knows none.
CREATE FUNCTION rowlock.leftover(name text) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN NULL;
END $$;

-- Which sessions wait, by the key of a name: each of them has, or waits for, the lock of the row's place.
CREATE FUNCTION rowlock.blocked() RETURNS TABLE (key bigint, pid integer, mode text)
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN QUERY
        SELECT DISTINCT rowlock.key(r.name), w.pid,
               CASE w.mode WHEN 'RowShareLock' THEN 'shared' ELSE 'exclusive' END
          FROM pg_catalog.pg_locks w
          JOIN rowlock.name r ON r.ctid = ('(' || w.page::text || ',' || w.tuple::text || ')')::tid
         WHERE w.locktype = 'tuple' AND w.relation = 'rowlock.name'::regclass::oid
           AND w.database = (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database());
END $$;

-- How many wait for the name: each of them has, or waits for, the lock of the row's place.
CREATE FUNCTION rowlock.waiting(name text) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN (SELECT pg_catalog.count(DISTINCT w.pid)
              FROM rowlock.name r
              JOIN pg_catalog.pg_locks w ON w.locktype = 'tuple' AND w.relation = 'rowlock.name'::regclass::oid
               AND '(' || w.page::text || ',' || w.tuple::text || ')' = r.ctid::text
               AND w.database = (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database())
             WHERE r.name = waiting.name COLLATE "C");
END $$;

-- The names that the technique keeps, whoever holds them.
CREATE FUNCTION rowlock.names() RETURNS SETOF text LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN QUERY SELECT r.name::text FROM rowlock.name r;
END $$;

-- What vacuum removes of the technique's own: rows that nobody holds. Whoever comes to wait for one
-- meanwhile finds it gone and looks again.
CREATE FUNCTION rowlock.vacuum_names() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    removed bigint;
BEGIN
    DELETE FROM rowlock.name r USING (SELECT u.name FROM rowlock.name u FOR UPDATE SKIP LOCKED) unheld
     WHERE r.name = unheld.name;
    GET DIAGNOSTICS removed = ROW_COUNT;
    RETURN removed;
END $$;

UPDATE rowlock.meta SET technique = 'row';
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA rowlock FROM PUBLIC;
