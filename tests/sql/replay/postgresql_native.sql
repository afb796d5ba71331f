-- SPDX-License-Identifier: Apache-2.0
-- The article's transcript under technique native: a key is an advisory lock, nothing is written, nothing is
-- left. What differs from the article, here and in the other transcripts:
--   * rowlock's functions are in its own schema; a number is the name of its decimal text.
--   * Who is to get the lock may take 20 seconds, so that a machine that stands still fails nothing; who is
--     to be cancelled waits one. The article gives both 2.
--   * A wait that is cancelled is 57014, as everywhere in PostgreSQL; YugabyteDB's is XX000.
--   * pg_locks shows a lock at once, without sleep.

-- ---- the locks -----------------------------------------------------------------------------------
select rowlock.shared(1);
-- the article's table has a row for key 1 now; here there is none for any key
select name from rowlock.names;
show transaction_isolation;

-- test shared: ShareLock on the number of each key
begin transaction;
select rowlock.shared(1);
select rowlock.shared(2);
select k.name, l.mode, l.granted
  from (values ('1'), ('2'), ('3')) as k (name)
  join pg_locks l on l.locktype = 'advisory' and l.objsubid = 1
   and l.database = (select oid from pg_database where datname = current_database())
   and l.classid::bigint << 32 | l.objid::bigint = rowlock.key(k.name)
 order by k.name;
rollback;

-- test exclusive: ExclusiveLock
begin transaction;
select rowlock.exclusive(1);
select rowlock.exclusive(3);
select k.name, l.mode, l.granted
  from (values ('1'), ('2'), ('3')) as k (name)
  join pg_locks l on l.locktype = 'advisory' and l.objsubid = 1
   and l.database = (select oid from pg_database where datname = current_database())
   and l.classid::bigint << 32 | l.objid::bigint = rowlock.key(k.name)
 order by k.name;
rollback;

-- ---- the wait ------------------------------------------------------------------------------------
-- test shared / shared: not blocking; a key that is known, then a new one
begin transaction;
select rowlock.shared(1);
\! psql -c 'set statement_timeout=20000' -c 'select rowlock.shared(1)'
rollback;
begin transaction;
select rowlock.shared(4);
\! psql -c 'set statement_timeout=20000' -c 'select rowlock.shared(4)'
rollback;
-- test shared / exclusive: blocking
begin transaction;
select rowlock.shared(1);
\! psql -c 'set statement_timeout=1000' -c 'select rowlock.exclusive(1)'
rollback;
begin transaction;
select rowlock.shared(5);
\! psql -c 'set statement_timeout=1000' -c 'select rowlock.exclusive(5)'
rollback;
-- test exclusive / shared: blocking
begin transaction;
select rowlock.exclusive(1);
\! psql -c 'set statement_timeout=1000' -c 'select rowlock.shared(1)'
rollback;
begin transaction;
select rowlock.exclusive(6);
\! psql -c 'set statement_timeout=1000' -c 'select rowlock.shared(6)'
rollback;
-- test exclusive / exclusive: blocking
begin transaction;
select rowlock.exclusive(1);
\! psql -c 'set statement_timeout=1000' -c 'select rowlock.exclusive(1)'
rollback;
begin transaction;
select rowlock.exclusive(7);
\! psql -c 'set statement_timeout=1000' -c 'select rowlock.exclusive(7)'
rollback;
-- in the article 5, 4 and 1 remain
select name from rowlock.names;

-- ---- unlock --------------------------------------------------------------------------------------
-- removes nothing here, for there is nothing; the lock goes when the transaction ends, as in the article
begin transaction;
select rowlock.exclusive(1);
select rowlock.unlock(1);
\! psql -c 'set statement_timeout=1000' -c 'select rowlock.exclusive(1)'
commit;
\! psql -c 'set statement_timeout=20000' -c 'select rowlock.exclusive(1)'
select name from rowlock.names;

-- ---- vacuum --------------------------------------------------------------------------------------
-- finds nothing to remove, waits for nobody, and what is locked stays so
begin transaction;
select rowlock.shared(4);
\! psql -c 'set statement_timeout=20000' -c 'select rowlock.vacuum()'
\! psql -c 'set statement_timeout=1000' -c 'select rowlock.exclusive(4)'
commit;
select name from rowlock.names;
