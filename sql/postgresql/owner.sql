-- Calls none of the functions.
SELECT 'owner', CASE WHEN o.trusted THEN 0 ELSE 1 END,
       'the schema rowlock belongs to ' || o.rolname::text
    || CASE WHEN o.trusted THEN ''
           ELSE ': the functions of that role run with the rights of this superuser' END,
       CASE WHEN NOT o.trusted THEN pg_catalog.format('use the URL of %I', o.rolname) END
  FROM (SELECT r.rolname, r.rolsuper OR pg_catalog.current_setting('is_superuser') <> 'on'
               AS trusted
          FROM pg_catalog.pg_namespace n JOIN pg_catalog.pg_roles r ON r.oid = n.nspowner
         WHERE n.nspname = 'rowlock') o;
