SELECT CASE
    WHEN n.oid IS NOT NULL AND NOT pg_catalog.pg_has_role(n.nspowner, 'USAGE')
         AND NOT pg_catalog.has_schema_privilege(n.oid, 'CREATE')
        THEN 'the schema rowlock belongs to ' || pg_catalog.pg_get_userbyid(n.nspowner)::text
            || '; run it as that role'
    WHEN n.oid IS NULL AND NOT pg_catalog.has_database_privilege(d.oid, 'CREATE')
        THEN pg_catalog.format('an administrator can allow it: GRANT CREATE ON DATABASE %I TO %I',
                               d.datname, current_user)
             || CASE WHEN $1::integer = 1 AND NOT s.may
                     THEN pg_catalog.format('; GRANT CREATE ON SCHEMA %I TO %I', s.name,
                                            current_user) ELSE '' END
    WHEN $1::integer = 1 AND NOT s.may
        THEN pg_catalog.format('an administrator can allow it: GRANT CREATE ON SCHEMA %I TO %I',
                               s.name, current_user)
    ELSE 'run it as the owner of the schema rowlock and of all that is in it' END
  FROM pg_catalog.pg_database d
 CROSS JOIN LATERAL (SELECT h.name, pg_catalog.has_schema_privilege(h.name, 'CREATE') AS may
                       FROM (SELECT coalesce(current_schema(), 'public')::text AS name) h) s
  LEFT JOIN pg_catalog.pg_namespace n ON n.nspname = 'rowlock'
 WHERE d.datname = pg_catalog.current_database();
