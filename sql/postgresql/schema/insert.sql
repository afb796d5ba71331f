-- SPDX-License-Identifier: Apache-2.0
-- Technique insert: programs that only know two statements take part, INSERT of a name as a unique
-- key of the table rowlock_object and its DELETE in the same transaction. A trigger locks the name
-- before the INSERT, as rowlock.exclusive does, and waits for leases as that does. All other
-- callers lock as with technique native, and write nothing.

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
                       IS DISTINCT FROM pg_catalog.to_regprocedure('rowlock.lock_object()')::oid
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

-- Such a program may have no right in the schema rowlock, so this is the only function with the
-- rights of its owner. Everything it calls is qualified, and its search_path is fixed. It reveals
-- only the holder of the name that the caller inserts. If NEW.id had a type of the caller, a cast
-- function of the caller would run with the owner's rights: so the function accepts only the types
-- that install accepts.
CREATE FUNCTION rowlock.lock_object() RETURNS trigger
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN -- an INSERT of a name locks it until the transaction ends: man rowlock-schema
    IF pg_catalog.pg_typeof(NEW.id)::oid NOT IN ('text'::regtype::oid, 'varchar'::regtype::oid) THEN
        RAISE EXCEPTION 'rowlock: a name must be of type varchar or text' USING ERRCODE = 'RL003';
    END IF;
    PERFORM rowlock.exclusive(NEW.id::text);
    RETURN NEW;
END $$;
-- ALWAYS: also for a session with session_replication_role = replica.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_trigger t
                   WHERE t.tgrelid = 'rowlock_object'::regclass::oid
                      AND t.tgname = 'rowlock_lock_object' AND t.tgenabled = 'A'::"char") THEN
        DROP TRIGGER IF EXISTS rowlock_lock_object ON rowlock_object;
        CREATE TRIGGER rowlock_lock_object BEFORE INSERT ON rowlock_object
            FOR EACH ROW EXECUTE FUNCTION rowlock.lock_object();
        ALTER TABLE rowlock_object ENABLE ALWAYS TRIGGER rowlock_lock_object;
    END IF;
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA rowlock FROM PUBLIC;
