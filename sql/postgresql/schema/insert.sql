-- SPDX-License-Identifier: Apache-2.0
-- Technique insert: INSERT, then DELETE, of the name as a unique key, in the caller's transaction;
-- whoever inserts the same key meanwhile waits until that transaction ends. Any program that does
-- the two statements on the table rowlock_object takes part; a trigger makes it wait for leases too.
-- Exclusive only.

UPDATE rowlock.meta SET technique = 'insert', object = 'rowlock_object',
                        owned = owned AND object IS NOT DISTINCT FROM 'rowlock_object'
                                OR pg_catalog.to_regclass('rowlock_object') IS NULL;

-- (IF NOT EXISTS would ask for the right to create it, though it is there.)
DO $$
BEGIN
    IF pg_catalog.to_regclass('rowlock_object') IS NULL THEN
        CREATE TABLE rowlock_object (
            uuid      VARCHAR(32)  NOT NULL,
            id        VARCHAR(255) NOT NULL,
            locked_ts TIMESTAMP    NOT NULL,
            PRIMARY KEY (uuid),
            UNIQUE (id)
        );
    END IF;
END $$;

-- All that lock write to this table and read it. So whatever runs with these statements must come from the
-- installing role or a superuser: the table itself, and any function, operator or type that a default, a
-- generated column, a constraint or an index of it uses. Triggers, rules, policies, foreign keys and inheritance have
-- no place there, whoever made them. The owner of a table that was chosen with --table is trusted by that choice
-- (its own name is written in two pieces here, for the chosen one takes its place).
DO $$
DECLARE
    object constant oid := 'rowlock_object'::regclass::oid;
    trusted constant oid[] := ARRAY(SELECT r.oid FROM pg_catalog.pg_roles r WHERE r.rolsuper OR r.rolname = current_user);
    owner oid;
    home oid;
    kind "char";
    chosen boolean;
    reason text;
    remedy text;
BEGIN
    SELECT c.relowner, c.relkind, c.relname <> 'rowlock' || '_object', n.nspowner INTO owner, kind, chosen, home
      FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = object;
    IF kind <> 'r' THEN
        reason := 'it is not a plain table';
        remedy := 'choose another with --table';
    ELSIF NOT chosen AND owner <> ALL (trusted) THEN
        reason := 'its owner could run code with the rights of all that lock';
        remedy := pg_catalog.format('drop it, or run: ALTER TABLE %s OWNER TO %I', 'rowlock_object', current_user);
    ELSIF NOT chosen AND home <> ALL (trusted) AND pg_catalog.pg_get_userbyid(home) <> 'pg_database_owner'
          AND home <> (SELECT d.datdba FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database()) THEN
        reason := pg_catalog.format('%I owns its schema, and could put another in its place', pg_catalog.pg_get_userbyid(home));
        remedy := 'choose another search_path';
    END IF;
    IF reason IS NULL THEN
        SELECT pg_catalog.format('%I can create a trigger on it', pg_catalog.pg_get_userbyid(a.grantee)),
               pg_catalog.format('run: REVOKE TRIGGER ON %s FROM %s', 'rowlock_object',
                   CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(a.grantee)) END)
          INTO reason, remedy
          FROM pg_catalog.pg_class c CROSS JOIN LATERAL pg_catalog.aclexplode(c.relacl) a
         WHERE c.oid = object AND a.privilege_type = 'TRIGGER' AND a.grantee <> ALL (trusted || c.relowner) LIMIT 1;
    END IF;
    IF reason IS NULL THEN
        SELECT x.what, x.remedy INTO reason, remedy
          FROM (SELECT pg_catalog.format('it has the trigger %I', t.tgname) AS what,
                       pg_catalog.format('run: DROP TRIGGER %I ON %s', t.tgname, 'rowlock_object') AS remedy
                  FROM pg_catalog.pg_trigger t
                 WHERE t.tgrelid = object AND NOT t.tgisinternal
                   AND t.tgfoid IS DISTINCT FROM pg_catalog.to_regprocedure('rowlock.respect_leases()')::oid
                UNION ALL
                SELECT pg_catalog.format('it has the rule %I', r.rulename),
                       pg_catalog.format('run: DROP RULE %I ON %s', r.rulename, 'rowlock_object')
                  FROM pg_catalog.pg_rewrite r WHERE r.ev_class = object
                UNION ALL
                SELECT pg_catalog.format('it has the policy %I', p.polname),
                       pg_catalog.format('run: DROP POLICY %I ON %s', p.polname, 'rowlock_object')
                  FROM pg_catalog.pg_policy p WHERE p.polrelid = object
                UNION ALL
                SELECT 'it has row level security',
                       pg_catalog.format('run: ALTER TABLE %s DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY', 'rowlock_object')
                  FROM pg_catalog.pg_class c WHERE c.oid = object AND (c.relrowsecurity OR c.relforcerowsecurity)
                UNION ALL
                SELECT pg_catalog.format('it has the foreign key %I, of %s', k.conname, k.conrelid::regclass),
                       pg_catalog.format('run: ALTER TABLE %s DROP CONSTRAINT %I', k.conrelid::regclass, k.conname)
                  FROM pg_catalog.pg_constraint k WHERE k.contype = 'f' AND object IN (k.conrelid, k.confrelid)
                UNION ALL
                SELECT pg_catalog.format('it inherits from %s', i.inhparent::regclass), 'choose another with --table'
                  FROM pg_catalog.pg_inherits i WHERE i.inhrelid = object
                UNION ALL
                SELECT pg_catalog.format('%s inherits from it', i.inhrelid::regclass), 'choose another with --table'
                  FROM pg_catalog.pg_inherits i WHERE i.inhparent = object) x
         LIMIT 1;
    END IF;
    -- What is part of the server itself has no row in pg_depend.
    IF reason IS NULL THEN
        SELECT pg_catalog.format('%s uses %s', pg_catalog.pg_describe_object(p.classid, p.objid, 0),
                                 pg_catalog.pg_describe_object(d.refclassid, d.refobjid, 0)),
               'remove that, or choose another with --table'
          INTO reason, remedy
          FROM (SELECT 'pg_catalog.pg_class'::regclass::oid AS classid, object AS objid
                UNION ALL SELECT 'pg_catalog.pg_class'::regclass::oid, i.indexrelid
                  FROM pg_catalog.pg_index i WHERE i.indrelid = object
                UNION ALL SELECT 'pg_catalog.pg_constraint'::regclass::oid, k.oid
                  FROM pg_catalog.pg_constraint k WHERE k.conrelid = object
                UNION ALL SELECT 'pg_catalog.pg_attrdef'::regclass::oid, a.oid
                  FROM pg_catalog.pg_attrdef a WHERE a.adrelid = object) p
          JOIN pg_catalog.pg_depend d ON d.classid = p.classid AND d.objid = p.objid
          LEFT JOIN pg_catalog.pg_proc f ON d.refclassid = 'pg_catalog.pg_proc'::regclass::oid AND f.oid = d.refobjid
          LEFT JOIN pg_catalog.pg_operator o ON d.refclassid = 'pg_catalog.pg_operator'::regclass::oid AND o.oid = d.refobjid
          LEFT JOIN pg_catalog.pg_opclass c ON d.refclassid = 'pg_catalog.pg_opclass'::regclass::oid AND c.oid = d.refobjid
          LEFT JOIN pg_catalog.pg_type t ON d.refclassid = 'pg_catalog.pg_type'::regclass::oid AND t.oid = d.refobjid
         WHERE coalesce(f.proowner, o.oprowner, c.opcowner, t.typowner) <> ALL (trusted)
         LIMIT 1;
    END IF;
    IF reason IS NOT NULL THEN
        RAISE EXCEPTION 'rowlock: rowlock_object, which belongs to %, cannot be used: %; %',
                        pg_catalog.pg_get_userbyid(owner), reason, remedy
            USING ERRCODE = 'RL003';
    END IF;
END $$;

-- A table that was there must tell any two names apart, and be able to make one wait for another.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_attribute a LEFT JOIN pg_catalog.pg_collation c ON c.oid = a.attcollation
                    WHERE a.attrelid = 'rowlock_object'::regclass::oid AND a.attname = 'id'
                      AND a.atttypid IN ('varchar'::regtype::oid, 'text'::regtype::oid) AND c.collisdeterministic)
    THEN
        RAISE EXCEPTION 'rowlock: rowlock_object needs a column id of type varchar or text that tells all names apart'
            USING ERRCODE = 'RL003';
    ELSIF NOT EXISTS (SELECT FROM pg_catalog.pg_attribute a
                       WHERE a.attrelid = 'rowlock_object'::regclass::oid AND a.attname = 'uuid'
                         AND a.atttypid IN ('varchar'::regtype::oid, 'text'::regtype::oid, 'char(1)'::regtype::oid)
                         AND (a.atttypmod < 0 OR a.atttypmod >= 32 + 4))
    THEN
        RAISE EXCEPTION 'rowlock: rowlock_object needs a column uuid of type varchar, char or text, of 32 characters at least'
            USING ERRCODE = 'RL003';
    ELSIF NOT EXISTS (SELECT FROM pg_catalog.pg_index i JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid
                       WHERE i.indrelid = 'rowlock_object'::regclass::oid AND i.indisunique AND i.indisvalid
                         AND i.indimmediate AND i.indpred IS NULL AND i.indexprs IS NULL
                         AND i.indnkeyatts = 1 AND i.indkey[0] = a.attnum AND a.attname = 'id')
    THEN
        RAISE EXCEPTION 'rowlock: rowlock_object needs a unique key on id alone'
            USING ERRCODE = 'RL003';
    END IF;
END $$;

UPDATE rowlock.meta SET id_width = (
    SELECT CASE WHEN a.atttypmod > 4 THEN a.atttypmod - 4 END FROM pg_catalog.pg_attribute a
     WHERE a.attrelid = 'rowlock_object'::regclass::oid AND a.attname = 'id');

-- The order in which several names are locked: that of their bytes.
CREATE FUNCTION rowlock.rank(name text) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT 0::bigint
$$;

-- The committed row that holds the name, for people; NULL if there is none.
CREATE FUNCTION rowlock.leftover(name text) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN (SELECT pg_catalog.format('uuid %s, locked_ts %s', o.uuid, o.locked_ts)
              FROM rowlock_object o WHERE o.id::text = leftover.name);
END $$;

-- Has this technique a shared T?
CREATE FUNCTION rowlock.can_share() RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT false
$$;

-- T: waits as lock_timeout says. 0, or 6. Nothing inserted means that a row is in the way: one that
-- is committed stays, any other went in between. The uuid says whose the row is: see the trigger.
CREATE FUNCTION rowlock.take(name text, shared boolean) RETURNS integer
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    mine constant text := 'rowlock:' || pg_catalog.right(
        pg_catalog.replace(pg_catalog.gen_random_uuid()::text, '-', ''), 24);
BEGIN
    IF shared THEN
        RAISE EXCEPTION 'rowlock: technique insert has no shared locks' USING ERRCODE = 'RL004';
    ELSIF EXISTS (SELECT FROM rowlock.meta m WHERE pg_catalog.char_length(name) > m.id_width) THEN
        RAISE EXCEPTION 'rowlock: the name is longer than the column id of rowlock_object'
            USING ERRCODE = 'RL003';
    END IF;
    LOOP
        INSERT INTO rowlock_object (uuid, id, locked_ts)
        VALUES (mine, name, pg_catalog.clock_timestamp() AT TIME ZONE 'UTC')
        ON CONFLICT DO NOTHING;
        EXIT WHEN FOUND;
        IF rowlock.leftover(name) IS NOT NULL THEN
            RETURN 6;
        END IF;
    END LOOP;
    DELETE FROM rowlock_object o WHERE o.uuid::text = mine;
    -- shows to rowlock.holders who has it; blocks nobody, decides nothing
    PERFORM pg_catalog.pg_try_advisory_xact_lock_shared(rowlock.key(name));
    RETURN 0;
END $$;

-- Who knows the two statements alone waits for a lease of that name as well: after the INSERT, for by
-- then the unique key is won, and whoever grants a lease needs it. As rowlock.wait_lease: 30 s at most,
-- or lock_timeout if that is less.
--
-- The one function with the rights of its owner: such a program may know nothing of rowlock, nor have a
-- right in its schema. Everything it calls is qualified, and its search_path is fixed; what it tells the
-- caller is who holds the name that he has just inserted. Of a type of the caller's own, NEW.id would become
-- text by a function of his, run with the owner's rights: so the types are those of install, none else.
CREATE FUNCTION rowlock.respect_leases() RETURNS trigger
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN -- whoever inserts a name waits for a lease of it: man rowlock-schema
    IF pg_catalog.pg_typeof(NEW.id)::oid NOT IN ('text'::regtype::oid, 'varchar'::regtype::oid) THEN
        RAISE EXCEPTION 'rowlock: a name is of type varchar or text' USING ERRCODE = 'RL003';
    END IF;
    IF pg_catalog.current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
        PERFORM rowlock.check_use(NEW.id); -- an earlier snapshot would not show the lease
    END IF;
    IF rowlock.look(NEW.id, false) <> 0 THEN
        PERFORM rowlock.wait_lease(NEW.id, false);
    END IF;
    RETURN NULL;
END $$;
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_trigger t WHERE t.tgrelid = 'rowlock_object'::regclass::oid
                      AND t.tgfoid = 'rowlock.respect_leases'::regproc::oid) THEN
        CREATE TRIGGER rowlock_respect_leases AFTER INSERT ON rowlock_object
            FOR EACH ROW WHEN ((NEW.uuid::text LIKE 'rowlock:%') IS NOT TRUE) -- rowlock.take looks by itself
            EXECUTE FUNCTION rowlock.respect_leases();
    END IF;
END $$;

-- T at once or not at all: 0, 1 or 6. An INSERT has no NOWAIT: the shortest time-out stands for it.
CREATE FUNCTION rowlock.try_take(name text, shared boolean) RETURNS integer
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    saved constant text := pg_catalog.current_setting('lock_timeout');
    status integer;
BEGIN
    PERFORM pg_catalog.set_config('lock_timeout', '1', true);
    status := rowlock.take(name, shared);
    PERFORM pg_catalog.set_config('lock_timeout', saved, true);
    RETURN status;
EXCEPTION WHEN lock_not_available THEN
    RETURN 1;
END $$;

-- Begin-and-lock of one name, exclusively, however long it takes.
CREATE FUNCTION rowlock.begin_one(name text)
RETURNS integer LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF rowlock.take(name, false) = 6 THEN
        PERFORM rowlock.fail(6, name);
    END IF;
    RETURN rowlock.look(name, false);
END $$;

-- The same with an end to the wait.
CREATE FUNCTION rowlock.begin_one(name text, wait_ms bigint)
RETURNS integer LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN rowlock.begin_rare(name, wait_ms);
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

-- Which sessions wait, by the key of a name: those that wait for a transaction which is marked as its holder.
CREATE FUNCTION rowlock.blocked() RETURNS TABLE (key bigint, pid integer, mode text)
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN QUERY
        SELECT DISTINCT h.classid::bigint << 32 | h.objid::bigint, w.pid, 'exclusive'
          FROM pg_catalog.pg_locks h
          JOIN pg_catalog.pg_locks x ON x.pid = h.pid AND x.locktype = 'transactionid' AND x.granted
          JOIN pg_catalog.pg_locks w ON w.locktype = 'transactionid' AND NOT w.granted
                         AND w.transactionid = x.transactionid
         WHERE h.locktype = 'advisory' AND h.granted AND h.objsubid = 1
           AND h.database = (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database());
END $$;

-- How many wait: for the transactions that are marked as holders of the name.
CREATE FUNCTION rowlock.waiting(name text) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN (SELECT pg_catalog.count(DISTINCT w.pid)
              FROM pg_catalog.pg_locks h
              JOIN pg_catalog.pg_locks x ON x.pid = h.pid AND x.locktype = 'transactionid' AND x.granted
              JOIN pg_catalog.pg_locks w ON w.locktype = 'transactionid' AND NOT w.granted
                             AND w.transactionid = x.transactionid
             WHERE h.locktype = 'advisory' AND h.granted AND h.objsubid = 1
               AND h.database = (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database())
               AND h.classid = ((rowlock.key(waiting.name) >> 32) & 4294967295)::oid
               AND h.objid = (rowlock.key(waiting.name) & 4294967295)::oid);
END $$;

-- The names that the technique keeps, whoever holds them; this one keeps none.
CREATE FUNCTION rowlock.names() RETURNS SETOF text LANGUAGE plpgsql VOLATILE AS $$
BEGIN
END $$;

-- What vacuum removes of the technique's own: committed rows, which hold their names for ever.
CREATE FUNCTION rowlock.vacuum_names() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    removed bigint;
BEGIN
    DELETE FROM rowlock_object o
     USING (SELECT u.uuid FROM rowlock_object u FOR UPDATE SKIP LOCKED) left_over
     WHERE o.uuid::text = left_over.uuid::text;
    GET DIAGNOSTICS removed = ROW_COUNT;
    RETURN removed;
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA rowlock FROM PUBLIC;
