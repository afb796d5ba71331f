SELECT e.extversion
  FROM pg_catalog.pg_namespace n
  JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_namespace'::pg_catalog.regclass::oid
      AND d.objid = n.oid
   AND d.refclassid = 'pg_catalog.pg_extension'::pg_catalog.regclass::oid AND d.deptype = 'e'
  JOIN pg_catalog.pg_extension e ON e.oid = d.refobjid
 WHERE n.nspname = 'rowlock';
