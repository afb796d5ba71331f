-- SPDX-License-Identifier: Apache-2.0
-- Technique row: the name lock is a row lock, FOR UPDATE or FOR SHARE, on a committed row of the
-- name. Locking never inserts the row: two sessions that insert the same key wait for each other
-- even if both want to share it. On PostgreSQL a stream of shared locks can starve an exclusive
-- waiter under this technique; under native it cannot.

CREATE TABLE rowlock.name (name text COLLATE "C" PRIMARY KEY);
-- The names of rowlock.prepare: rowlock.vacuum keeps their rows, until rowlock.unlock.
CREATE TABLE rowlock.prepared (name text COLLATE "C" PRIMARY KEY);

-- Several names are locked in the order of their bytes: see rowlock.unpack.
CREATE FUNCTION rowlock.rank(name text) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT 0::bigint
$$;

-- Shows the holder of the row to rowlock.holders; blocks no session and decides nothing.
CREATE FUNCTION rowlock.show_holder(name text) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM pg_catalog.pg_try_advisory_xact_lock_shared(rowlock.key(name));
END $$;

CREATE FUNCTION rowlock.can_share() RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT true
$$;

-- Takes the name lock, and waits up to lock_timeout. Returns 0, or 5: the row does not exist. A
-- session that waited for a row which vacuum deleted gets no row, although a new one may exist by
-- then: so it looks up to three times.
CREATE FUNCTION rowlock.name_lock(name text, shared boolean) RETURNS integer
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    FOR attempt IN 1..3 LOOP
        IF shared THEN
            PERFORM FROM rowlock.name r WHERE r.name = name_lock.name FOR SHARE;
        ELSE
            PERFORM FROM rowlock.name r WHERE r.name = name_lock.name FOR UPDATE;
        END IF;
        IF FOUND THEN
            PERFORM rowlock.show_holder(name);
            RETURN 0;
        END IF;
    END LOOP;
    RETURN 5;
END $$;

-- Tries the name lock: 0, 1 or 5.
CREATE FUNCTION rowlock.try_name_lock(name text, shared boolean) RETURNS integer
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF shared THEN
        PERFORM FROM rowlock.name r WHERE r.name = try_name_lock.name FOR SHARE SKIP LOCKED;
    ELSE
        PERFORM FROM rowlock.name r WHERE r.name = try_name_lock.name FOR UPDATE SKIP LOCKED;
    END IF;
    IF FOUND THEN
        PERFORM rowlock.show_holder(name);
        RETURN 0;
    END IF;
    RETURN CASE WHEN EXISTS (SELECT FROM rowlock.name r WHERE r.name = try_name_lock.name) THEN 1
        ELSE 5 END;
END $$;

-- Begins and locks one name exclusively, without a time limit.
CREATE FUNCTION rowlock.begin_one(name text)
RETURNS integer LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM FROM rowlock.name r WHERE r.name = begin_one.name FOR UPDATE;
    IF NOT FOUND THEN
        RETURN rowlock.begin_name(name, -1);
    END IF;
    PERFORM rowlock.show_holder(name);
    {look_for_leases};
END $$;

-- The same with a time limit: tries first, and sets a timeout only if it has to wait.
CREATE FUNCTION rowlock.begin_one(name text, wait_ms bigint)
RETURNS integer LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM FROM rowlock.name r WHERE r.name = begin_one.name FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN rowlock.begin_name(name, wait_ms);
    END IF;
    PERFORM rowlock.show_holder(name);
    {look_for_leases};
END $$;

-- Creates the row of a name, in a transaction of its own before the name is locked.
CREATE FUNCTION rowlock.create_name(name text) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM rowlock.check_use(name);
    IF NOT EXISTS (SELECT FROM rowlock.name r WHERE r.name = create_name.name COLLATE "C") THEN
        INSERT INTO rowlock.name (name) VALUES (create_name.name) ON CONFLICT DO NOTHING;
    END IF;
END $$;

-- The same for a name that vacuum keeps. The INSERT waits for a session that deletes the row, and
-- for no lock on it.
CREATE FUNCTION rowlock.prepare(name text) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM rowlock.check_use(name);
    INSERT INTO rowlock.prepared (name) VALUES (prepare.name) ON CONFLICT DO NOTHING;
    INSERT INTO rowlock.name (name) VALUES (prepare.name) ON CONFLICT DO NOTHING;
END $$;
COMMENT ON FUNCTION rowlock.prepare(text) IS
    'Prepares a name, which technique row requires before its first lock later in a transaction. '
    'Once is enough: it remains until rowlock.unlock. Call it before BEGIN.';

-- Removes the row of a name, unless another session holds it or waits for it: a waiter would find
-- the row deleted. A session that begins to wait between this call and COMMIT does find it deleted,
-- and gets status 5.
CREATE FUNCTION rowlock.unlock(name text) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM rowlock.check_use(name);
    DELETE FROM rowlock.name r
     USING (SELECT u.name FROM rowlock.name u
            WHERE u.name = unlock.name COLLATE "C" FOR UPDATE SKIP LOCKED) unheld
     WHERE r.name = unheld.name AND rowlock.waiting(unlock.name) = 0;
    IF FOUND THEN
        DELETE FROM rowlock.prepared p WHERE p.name = unlock.name COLLATE "C";
    END IF;
END $$;
COMMENT ON FUNCTION rowlock.unlock(text) IS
    'Removes the row of the name when the transaction commits, unless another session holds or '
    'waits for it; call it last. The name stays locked until then, and is not prepared (RL008) '
    'afterwards. Waits for no lock.';

-- This technique leaves no row that holds a name.
CREATE FUNCTION rowlock.leftover(name text) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN NULL;
END $$;

-- Lists the sessions that wait for a name, by its key: each of them holds, or waits for, the tuple
-- lock of the row.
CREATE FUNCTION rowlock.blocked() RETURNS TABLE (key bigint, pid integer, mode text)
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN QUERY
        SELECT DISTINCT rowlock.key(r.name), w.pid,
               CASE w.mode WHEN 'RowShareLock' THEN 'shared' ELSE 'exclusive' END
          FROM pg_catalog.pg_locks w
          JOIN rowlock.name r ON r.ctid = ('(' || w.page::text || ',' || w.tuple::text || ')')::tid
         WHERE w.locktype = 'tuple' AND w.relation = 'rowlock.name'::regclass::oid
           AND w.database = (SELECT d.oid FROM pg_catalog.pg_database d
                             WHERE d.datname = pg_catalog.current_database());
END $$;

-- Lists the names that the technique keeps in a table, held or not.
CREATE FUNCTION rowlock.names() RETURNS SETOF text LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN QUERY SELECT r.name::text FROM rowlock.name r;
END $$;

-- Deletes the rows of unheld names that are not prepared. A session that waits for one meanwhile
-- looks again.
CREATE FUNCTION rowlock.vacuum_names() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    removed bigint;
BEGIN
    DELETE FROM rowlock.name r
        USING (SELECT u.name FROM rowlock.name u FOR UPDATE SKIP LOCKED) unheld
     WHERE r.name = unheld.name
       AND NOT EXISTS (SELECT FROM rowlock.prepared p WHERE p.name = r.name);
    GET DIAGNOSTICS removed = ROW_COUNT;
    -- a name that was prepared after the DELETE had begun, and whose row it found
    INSERT INTO rowlock.name (name)
    SELECT p.name FROM rowlock.prepared p
     WHERE NOT EXISTS (SELECT FROM rowlock.name n WHERE n.name = p.name)
        ON CONFLICT DO NOTHING;
    RETURN removed;
END $$;

UPDATE rowlock.meta SET technique = 'row';
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA rowlock FROM PUBLIC;
