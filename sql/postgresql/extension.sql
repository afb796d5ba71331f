-- SPDX-License-Identifier: Apache-2.0
-- Returns the version of the extension that owns the schema; no row if no extension does.
SELECT e.extversion
  FROM pg_catalog.pg_namespace n
  JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_namespace'::pg_catalog.regclass::oid
      AND d.objid = n.oid
   AND d.refclassid = 'pg_catalog.pg_extension'::pg_catalog.regclass::oid AND d.deptype = 'e'
  JOIN pg_catalog.pg_extension e ON e.oid = d.refobjid
 WHERE n.nspname = 'rowlock';
