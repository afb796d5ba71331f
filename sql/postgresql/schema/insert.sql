-- SPDX-License-Identifier: Apache-2.0
-- Technique insert: the caller's transaction inserts the name as a unique key and deletes it again.
-- Another session that inserts the same key waits until the transaction ends. Any program that runs
-- these two statements on the table rowlock_object takes part; a trigger makes it wait for leases
-- too. This technique has exclusive locks only.

UPDATE rowlock.meta SET technique = 'insert', object = 'rowlock_object',
                        owned = owned AND object IS NOT DISTINCT FROM 'rowlock_object'
                                OR pg_catalog.to_regclass('rowlock_object') IS NULL;

-- IF NOT EXISTS would require the CREATE privilege even though the table exists.
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
        -- an event trigger may have switched it on
        ALTER TABLE rowlock_object DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY;
    END IF;
END $$;

-- Every role that locks writes to this table and reads it. So all code that runs with these
-- statements must come from the installing role or a superuser: the table itself, and any function,
-- operator or type that a default, a generated column, a constraint or an index uses. Triggers,
-- rules, policies, foreign keys and inheritance are refused, no matter who created them. The owner
-- of a table chosen with --table is trusted. (The default name is in two pieces here, because the
-- chosen name replaces every other occurrence.)
DO $$
DECLARE
    object constant oid := 'rowlock_object'::regclass::oid;
    trusted constant oid[] := ARRAY(SELECT r.oid FROM pg_catalog.pg_roles r
                                    WHERE r.rolsuper OR r.rolname = current_user);
    owner oid;
    home oid;
    kind "char";
    chosen boolean;
    reason text;
    remedy text;
BEGIN
    SELECT c.relowner, c.relkind, c.relname <> 'rowlock' || '_object', n.nspowner
      INTO owner, kind, chosen, home
      FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
     WHERE c.oid = object;
    IF kind <> 'r' THEN
        reason := 'it is not a plain table';
        remedy := 'choose another with --table';
    ELSIF NOT chosen AND owner <> ALL (trusted) THEN
        reason := 'its owner could run code with the rights of all that lock';
        remedy := pg_catalog.format('drop it, or run: ALTER TABLE %s OWNER TO %I',
                                    'rowlock_object', current_user);
    ELSIF NOT chosen AND home <> ALL (trusted)
          AND pg_catalog.pg_get_userbyid(home) <> 'pg_database_owner'
          AND home <> (SELECT d.datdba FROM pg_catalog.pg_database d
                       WHERE d.datname = pg_catalog.current_database()) THEN
        reason := pg_catalog.format('%I owns its schema, and could put another in its place',
                                    pg_catalog.pg_get_userbyid(home));
        remedy := 'choose another search_path';
    END IF;
    IF reason IS NULL THEN
        SELECT pg_catalog.format('%I can create a trigger on it',
                                 pg_catalog.pg_get_userbyid(a.grantee)),
               pg_catalog.format('run: REVOKE TRIGGER ON %s FROM %s', 'rowlock_object',
                   CASE WHEN a.grantee = 0 THEN 'PUBLIC'
                       ELSE pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(a.grantee)) END)
          INTO reason, remedy
          FROM pg_catalog.pg_class c CROSS JOIN LATERAL pg_catalog.aclexplode(c.relacl) a
         WHERE c.oid = object AND a.privilege_type = 'TRIGGER'
           AND a.grantee <> ALL (trusted || c.relowner) LIMIT 1;
    END IF;
    IF reason IS NULL THEN
        SELECT x.what, x.remedy INTO reason, remedy
          FROM (SELECT pg_catalog.format('it has the trigger %I', t.tgname) AS what,
                       pg_catalog.format('run: DROP TRIGGER %I ON %s', t.tgname, 'rowlock_object')
                           AS remedy
                  FROM pg_catalog.pg_trigger t
                 WHERE t.tgrelid = object AND NOT t.tgisinternal
                   AND t.tgfoid
                       IS DISTINCT FROM pg_catalog.to_regprocedure('rowlock.respect_leases()')::oid
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
                       pg_catalog.format('run: ALTER TABLE %s DISABLE ROW LEVEL SECURITY, NO '
                                         'FORCE ROW LEVEL SECURITY', 'rowlock_object')
                  FROM pg_catalog.pg_class c
                 WHERE c.oid = object AND (c.relrowsecurity OR c.relforcerowsecurity)
                UNION ALL
                SELECT pg_catalog.format('it has the foreign key %I, of %s', k.conname,
                                         k.conrelid::regclass),
                       pg_catalog.format('run: ALTER TABLE %s DROP CONSTRAINT %I',
                                         k.conrelid::regclass, k.conname)
                  FROM pg_catalog.pg_constraint k
                 WHERE k.contype = 'f' AND object IN (k.conrelid, k.confrelid)
                UNION ALL
                SELECT pg_catalog.format('it inherits from %s', i.inhparent::regclass),
                       'choose another with --table'
                  FROM pg_catalog.pg_inherits i WHERE i.inhrelid = object
                UNION ALL
                SELECT pg_catalog.format('%s inherits from it', i.inhrelid::regclass),
                       'choose another with --table'
                  FROM pg_catalog.pg_inherits i WHERE i.inhparent = object) x
         LIMIT 1;
    END IF;
    -- Objects that are part of the server itself have no row in pg_depend.
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
          LEFT JOIN pg_catalog.pg_proc f ON d.refclassid = 'pg_catalog.pg_proc'::regclass::oid
              AND f.oid = d.refobjid
          LEFT JOIN pg_catalog.pg_operator o
            ON d.refclassid = 'pg_catalog.pg_operator'::regclass::oid AND o.oid = d.refobjid
          LEFT JOIN pg_catalog.pg_opclass c
            ON d.refclassid = 'pg_catalog.pg_opclass'::regclass::oid AND c.oid = d.refobjid
          LEFT JOIN pg_catalog.pg_type t ON d.refclassid = 'pg_catalog.pg_type'::regclass::oid
              AND t.oid = d.refobjid
         WHERE coalesce(f.proowner, o.oprowner, c.opcowner, t.typowner) <> ALL (trusted)
         LIMIT 1;
    END IF;
    IF reason IS NULL AND NOT pg_catalog.pg_has_role(owner, 'USAGE') THEN
        reason := 'only its owner can make a trigger act in every session';
        remedy := pg_catalog.format('run: GRANT %I TO %I', pg_catalog.pg_get_userbyid(owner),
                                    current_user);
    END IF;
    IF reason IS NOT NULL THEN
        RAISE EXCEPTION 'rowlock: rowlock_object, which belongs to %, cannot be used: %; %',
                        pg_catalog.pg_get_userbyid(owner), reason, remedy
            USING ERRCODE = 'RL003';
    END IF;
END $$;

-- Checks that an existing table can tell any two names apart and can make one transaction wait for
-- another.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_attribute a LEFT JOIN pg_catalog.pg_collation c
                   ON c.oid = a.attcollation
                    WHERE a.attrelid = 'rowlock_object'::regclass::oid AND a.attname = 'id'
                      AND a.atttypid IN ('varchar'::regtype::oid, 'text'::regtype::oid)
                      AND c.collisdeterministic)
    THEN
        RAISE EXCEPTION
            'rowlock: rowlock_object needs a column id of type varchar or text that tells all '
            'names apart'
            USING ERRCODE = 'RL003';
    ELSIF NOT EXISTS (SELECT FROM pg_catalog.pg_attribute a
                       WHERE a.attrelid = 'rowlock_object'::regclass::oid AND a.attname = 'uuid'
                         AND a.atttypid IN ('varchar'::regtype::oid, 'text'::regtype::oid,
                                            'char(1)'::regtype::oid)
                         AND (a.atttypmod < 0 OR a.atttypmod >= 32 + 4))
    THEN
        RAISE EXCEPTION
            'rowlock: rowlock_object needs a column uuid of type varchar, char or text, of at '
            'least 32 characters'
            USING ERRCODE = 'RL003';
    ELSIF NOT EXISTS (SELECT FROM pg_catalog.pg_index i JOIN pg_catalog.pg_attribute a
                      ON a.attrelid = i.indrelid
                       WHERE i.indrelid = 'rowlock_object'::regclass::oid AND i.indisunique
                         AND i.indisvalid
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

-- Several names are locked in the order of their bytes: see rowlock.unpack.
CREATE FUNCTION rowlock.rank(name text) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT 0::bigint
$$;

-- Describes the committed row that holds the name; NULL if there is none.
CREATE FUNCTION rowlock.leftover(name text) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN (SELECT pg_catalog.format('uuid %s, locked_ts %s', o.uuid, o.locked_ts)
              FROM rowlock_object o WHERE o.id::text = leftover.name);
END $$;

CREATE FUNCTION rowlock.can_share() RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT false
$$;

-- Takes the name lock, and waits up to lock_timeout. Returns 0, or 6: a committed row holds the
-- name. An INSERT without effect met a row that remains (6), or one that has disappeared since. The
-- uuid marks the row as rowlock's for the trigger below.
CREATE FUNCTION rowlock.name_lock(name text, shared boolean) RETURNS integer
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
    ELSIF pg_catalog.row_security_active('rowlock_object'::regclass::oid) THEN
        RAISE EXCEPTION
            'rowlock: row level security could hide rows of % from %; run as its owner: ALTER '
            'TABLE % DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY',
                        'rowlock_object', pg_catalog.quote_ident(current_user), 'rowlock_object'
            USING ERRCODE = 'RL010';
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
    -- only shows the holder to rowlock.holders
    PERFORM pg_catalog.pg_try_advisory_xact_lock_shared(rowlock.key(name));
    RETURN 0;
END $$;

-- Makes programs that only know the two statements wait for leases too. The trigger waits after the
-- INSERT: by then the transaction owns the unique key, which every grant of a lease needs. It waits
-- as long as rowlock.wait_lease.
--
-- This is the only function with the rights of its owner, because such a program may have no right
-- in the schema rowlock. Everything it calls is qualified, and its search_path is fixed. It reveals
-- only the holder of the name that the caller has just inserted. If NEW.id had a type of the
-- caller, a cast function of the caller would run with the owner's rights: so the function accepts
-- only the types that install accepts.
CREATE FUNCTION rowlock.respect_leases() RETURNS trigger
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN -- an INSERT of a name waits for a lease of it: man rowlock-schema
    IF pg_catalog.pg_typeof(NEW.id)::oid NOT IN ('text'::regtype::oid, 'varchar'::regtype::oid) THEN
        RAISE EXCEPTION 'rowlock: a name must be of type varchar or text' USING ERRCODE = 'RL003';
    END IF;
    IF pg_catalog.current_setting('transaction_isolation') NOT IN ('read committed',
                                                                   'read uncommitted') THEN
        PERFORM rowlock.check_use(NEW.id); -- an earlier snapshot would not show the lease
    END IF;
    IF rowlock.look(NEW.id, false) <> 0 THEN
        PERFORM rowlock.wait_lease(NEW.id, false);
    END IF;
    RETURN NULL;
END $$;
-- ALWAYS: also for a session with session_replication_role = replica.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_trigger t
                   WHERE t.tgrelid = 'rowlock_object'::regclass::oid
                      AND t.tgfoid = 'rowlock.respect_leases'::regproc::oid) THEN
        CREATE TRIGGER rowlock_respect_leases AFTER INSERT ON rowlock_object
            -- rowlock.name_lock looks by itself
            FOR EACH ROW WHEN ((NEW.uuid::text LIKE 'rowlock:%') IS NOT TRUE)
            EXECUTE FUNCTION rowlock.respect_leases();
    END IF;
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_trigger t
                   WHERE t.tgrelid = 'rowlock_object'::regclass::oid
                      AND t.tgname = 'rowlock_respect_leases' AND t.tgenabled = 'A'::"char") THEN
        ALTER TABLE rowlock_object ENABLE ALWAYS TRIGGER rowlock_respect_leases;
    END IF;
END $$;

-- Tries the name lock: 0, 1 or 6. INSERT has no NOWAIT, so it uses the shortest timeout.
CREATE FUNCTION rowlock.try_name_lock(name text, shared boolean) RETURNS integer
LANGUAGE plpgsql VOLATILE SET exit_on_error = off AS $$
DECLARE
    saved constant text := pg_catalog.current_setting('lock_timeout');
    status integer;
BEGIN
    PERFORM pg_catalog.set_config('lock_timeout', '1', true);
    status := rowlock.name_lock(name, shared);
    PERFORM pg_catalog.set_config('lock_timeout', saved, true);
    RETURN status;
EXCEPTION WHEN lock_not_available THEN
    RETURN 1;
END $$;

-- Begins and locks one name exclusively, without a time limit.
CREATE FUNCTION rowlock.begin_one(name text)
RETURNS integer LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF rowlock.name_lock(name, false) = 6 THEN
        PERFORM rowlock.fail(6, name);
    END IF;
    RETURN rowlock.look(name, false);
END $$;

-- The same with a time limit.
CREATE FUNCTION rowlock.begin_one(name text, wait_ms bigint)
RETURNS integer LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN rowlock.begin_name(name, wait_ms);
END $$;

{no_rows};

-- Lists, by the key of the name, the sessions that wait for a transaction which holds the name's
-- advisory lock.
CREATE FUNCTION rowlock.blocked() RETURNS TABLE (key bigint, pid integer, mode text)
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN QUERY
        SELECT DISTINCT h.classid::bigint << 32 | h.objid::bigint, w.pid, 'exclusive'
          FROM pg_catalog.pg_locks h
          JOIN pg_catalog.pg_locks x ON x.pid = h.pid AND x.locktype = 'transactionid' AND x.granted
          JOIN pg_catalog.pg_locks w ON w.locktype = 'transactionid' AND NOT w.granted
                         AND w.transactionid = x.transactionid
         WHERE {advisory_lock h} AND h.granted;
END $$;

-- Deletes committed rows, which would hold their names forever.
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
