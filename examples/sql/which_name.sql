-- SPDX-License-Identifier: Apache-2.0
-- psql: from pg_locks to names. A key cannot be reversed, so hash the candidates: the names in
-- rowlock's tables, and yours.
SELECT l.pid, l.mode, l.granted, l.classid::bigint << 32 | l.objid::bigint AS key, k.name
  FROM pg_locks l
  LEFT JOIN (SELECT name, rowlock.key(name) AS key
               FROM (SELECT name FROM rowlock.names UNION SELECT 'BondBO:' || id FROM bond) known) k
    ON k.key = (l.classid::bigint << 32 | l.objid::bigint)
 WHERE l.locktype = 'advisory' AND l.objsubid = 1
   AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database());
