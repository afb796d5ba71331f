-- SPDX-License-Identifier: Apache-2.0
-- The last piece of an upgrade. Grants each role that could use the tables of the older version the
-- rights on what this version added. See grants.sql.

DO $$
DECLARE
    each record;
BEGIN
    FOR each IN
        SELECT CASE x.grantee WHEN 0::oid THEN 'PUBLIC'
                   ELSE pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(x.grantee)) END AS role,
               pg_catalog.bool_or(x.privilege_type = 'INSERT') AS locks,
               EXISTS (SELECT FROM pg_catalog.pg_proc p, pg_catalog.aclexplode(p.proacl) e
                        WHERE p.oid = 'rowlock.make_durable()'::pg_catalog.regprocedure
                          AND e.grantee = x.grantee) AS calls
          FROM pg_catalog.pg_class c, pg_catalog.aclexplode(c.relacl) x
         WHERE c.oid = 'rowlock.heartbeat'::pg_catalog.regclass AND x.grantee <> c.relowner
           AND x.privilege_type IN ('SELECT', 'INSERT')
         GROUP BY x.grantee
    LOOP
        EXECUTE pg_catalog.format('GRANT SELECT ON rowlock.setting, rowlock.history TO %s',
                                  each.role);
        IF each.locks THEN
            EXECUTE pg_catalog.format(
                'GRANT INSERT, DELETE, UPDATE (how) ON rowlock.history TO %s', each.role);
            EXECUTE pg_catalog.format(
                'GRANT SELECT, INSERT, DELETE, UPDATE (token) ON rowlock.least_token TO %s',
                each.role);
            EXECUTE pg_catalog.format(
                'GRANT SELECT, INSERT, DELETE, UPDATE ON rowlock.roll_caller TO %s', each.role);
        END IF;
        IF each.locks AND EXISTS (SELECT FROM rowlock.meta WHERE technique = 'row') THEN
            EXECUTE pg_catalog.format(
                'GRANT SELECT, INSERT, DELETE ON rowlock.prepared TO %s', each.role);
        END IF;
        IF each.calls THEN
            EXECUTE pg_catalog.format('GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA rowlock TO %s',
                                      each.role);
        END IF;
        IF each.calls AND EXISTS (SELECT FROM rowlock.meta WHERE technique = 'insert') THEN
            EXECUTE pg_catalog.format('REVOKE EXECUTE ON FUNCTION rowlock.respect_leases() FROM %s',
                                      each.role);
        END IF;
    END LOOP;
END $$;
