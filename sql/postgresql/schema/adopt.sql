-- SPDX-License-Identifier: Apache-2.0
-- Creates the schema rowlock, or checks an existing one, before an install creates, changes or
-- calls anything in it. The functions of the schema run with the rights of every role that locks,
-- and a trigger with those of the role that upgrades. So all existing objects, and an empty schema
-- too, must belong to the installing role or a superuser. No other role may be able to create an
-- object there, only the triggers of lease.sql may exist, and nothing else may change, hide or add
-- rows. It checks after CREATE, because another role may have created the schema in between.
DO $$
DECLARE
    way record;
BEGIN
    -- IF NOT EXISTS would require the CREATE privilege even though it exists
    IF pg_catalog.to_regnamespace('rowlock') IS NULL THEN
        CREATE SCHEMA rowlock;
    END IF;

    SELECT s.* INTO way
      FROM (SELECT 'the schema rowlock' AS what, n.nspowner AS owner
              FROM pg_catalog.pg_namespace n WHERE n.nspname = 'rowlock'
            UNION ALL
            SELECT pg_catalog.format('the relation rowlock.%I', c.relname), c.relowner
              FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
             WHERE n.nspname = 'rowlock'
            UNION ALL
            SELECT pg_catalog.format('the function %s', p.oid::regprocedure), p.proowner
              FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
             WHERE n.nspname = 'rowlock'
            UNION ALL
            SELECT pg_catalog.format('the type rowlock.%I', t.typname), t.typowner
              FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
             WHERE n.nspname = 'rowlock' AND t.typrelid = 0 AND t.typcategory <> 'A') s
     WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_roles r
                        WHERE r.oid = s.owner AND (r.rolsuper OR r.rolname = current_user))
     LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION
            'rowlock: % already exists and belongs to %: its owner could run code with the rights '
            'of all that lock; drop or rename it, or make % its owner',
                        way.what, pg_catalog.pg_get_userbyid(way.owner),
                        pg_catalog.quote_ident(current_user)
            USING ERRCODE = 'RL003';
    END IF;

    SELECT CASE WHEN a.grantee = 0 THEN 'PUBLIC'
        ELSE pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(a.grantee)) END AS grantee
      INTO way
      FROM pg_catalog.pg_namespace n
     CROSS JOIN
         LATERAL pg_catalog.aclexplode(coalesce(n.nspacl, pg_catalog.acldefault('n', n.nspowner))) a
     WHERE n.nspname = 'rowlock' AND a.privilege_type = 'CREATE'
       AND NOT EXISTS (SELECT FROM pg_catalog.pg_roles r
                        WHERE r.oid = a.grantee AND (r.rolsuper OR r.rolname = current_user))
     LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION
            'rowlock: % may create objects in the schema rowlock, and so run code with the rights '
            'of all that lock; run: REVOKE CREATE ON SCHEMA rowlock FROM %',
                        way.grantee, way.grantee
            USING ERRCODE = 'RL003';
    END IF;

    SELECT t.tgname AS name, c.relname AS relation, pg_catalog.pg_get_userbyid(p.proowner) AS owner
      INTO way
      FROM pg_catalog.pg_trigger t
      JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid
      JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
      JOIN pg_catalog.pg_proc p ON p.oid = t.tgfoid
     WHERE n.nspname = 'rowlock' AND NOT t.tgisinternal
       AND (p.pronamespace <> n.oid OR (c.relname, t.tgname, p.proname) NOT IN (
               ('lease', 'see_foreign', 'see_foreign'))
            -- its condition calls the server's own functions alone
            OR EXISTS (SELECT FROM pg_catalog.pg_depend d
                        WHERE d.classid = 'pg_trigger'::pg_catalog.regclass::oid
                          AND d.objid = t.oid AND d.refobjid NOT IN (t.tgfoid, t.tgrelid)))
     LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION
            'rowlock: a trigger % is on rowlock.%, with a function of %; run: DROP TRIGGER % ON '
            'rowlock.%',
                        pg_catalog.quote_ident(way.name), pg_catalog.quote_ident(way.relation),
                        way.owner, pg_catalog.quote_ident(way.name),
                        pg_catalog.quote_ident(way.relation)
            USING ERRCODE = 'RL003';
    END IF;

    SELECT x.* INTO way
      FROM (SELECT pg_catalog.format('it has the rule %I', r.rulename) AS what, c.relname,
                   pg_catalog.format('run: DROP RULE %I ON rowlock.%I', r.rulename, c.relname)
                       AS remedy
              FROM pg_catalog.pg_rewrite r
              JOIN pg_catalog.pg_class c ON c.oid = r.ev_class AND c.relkind <> 'v'
              JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace AND n.nspname = 'rowlock'
            UNION ALL
            SELECT 'it shares rows with ' || i.other::pg_catalog.regclass::text, c.relname,
                   pg_catalog.format('run: ALTER TABLE %s NO INHERIT %s',
                                     i.child::pg_catalog.regclass, i.parent::pg_catalog.regclass)
              FROM (SELECT h.inhrelid AS own, h.inhparent AS other, h.inhrelid AS child,
                           h.inhparent AS parent
                      FROM pg_catalog.pg_inherits h
                    UNION ALL
                    SELECT h.inhparent, h.inhrelid, h.inhrelid, h.inhparent
                      FROM pg_catalog.pg_inherits h) i
              JOIN pg_catalog.pg_class c ON c.oid = i.own AND c.relkind IN ('r', 'p')
              JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace AND n.nspname = 'rowlock') x
     LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'rowlock: rowlock.% cannot be used: %; %', way.relname, way.what, way.remedy
            USING ERRCODE = 'RL003';
    END IF;
END $$;
