-- SPDX-License-Identifier: Apache-2.0
-- psql -v name=BondBO:DK0015966592: from a name to its lock in pg_locks.
SELECT l.pid, l.mode, l.granted, a.usename, a.application_name, a.state, a.query
  FROM pg_locks l JOIN pg_stat_activity a USING (pid)
 WHERE l.locktype = 'advisory' AND l.objsubid = 1
   AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
   AND l.classid = (rowlock.key(:'name') >> 32 & 4294967295)::oid   -- the high half
   AND l.objid = (rowlock.key(:'name') & 4294967295)::oid;          -- the low half
