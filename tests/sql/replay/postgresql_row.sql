-- SPDX-License-Identifier: Apache-2.0
-- The article's transcript under technique row: its own, a key is a row. What differs from the article:
--   * rowlock's functions are in its own schema; a number is the name of its decimal text.
--   * Who is to get the lock may take 20 seconds, so that a machine that stands still fails nothing; who is
--     to be cancelled waits one. The article gives both 2.
--   * A wait that is cancelled is 57014, as everywhere in PostgreSQL; YugabyteDB's is XX000.
--   * No lock inserts its row. PostgreSQL has no non-transactional write, and a row that the locking transaction
--     inserts keeps everybody else waiting until it ends: others who share, a try that must not wait, and
--     whoever prepares that name. So a new key is prepared, in a transaction of its own, and a lock of
--     one that is not is refused, not granted.
--   * Hence every key that was prepared remains, whoever locked it and how.
--   * pg_locks shows a row's lock only while somebody waits for it; but a second psql sees which rows it could not
--     lock, and the holder leaves a mark, which rowlock.holders shows.

-- ---- the locks -----------------------------------------------------------------------------------
select rowlock.shared(1);
select rowlock.prepare(1);
select rowlock.shared(1);
select name from rowlock.names order by name;
show transaction_isolation;

-- test shared: for share on the row
select rowlock.prepare(2), rowlock.prepare(3);
begin transaction;
select rowlock.shared(1);
select rowlock.shared(2);
\! psql -c 'select name as to_share from rowlock.name order by name for share skip locked'
\! psql -c 'select name as to_have from rowlock.name order by name for update skip locked'
\! psql -c 'select name, kind from rowlock.holders order by name'
rollback;

-- test exclusive: for update
begin transaction;
select rowlock.exclusive(1);
select rowlock.exclusive(3);
\! psql -c 'select name as to_share from rowlock.name order by name for share skip locked'
\! psql -c 'select name as to_have from rowlock.name order by name for update skip locked'
\! psql -c 'select name, kind from rowlock.holders order by name'
rollback;

-- ---- the wait ------------------------------------------------------------------------------------
-- test shared / shared: not blocking; a key that is known, then a new one
begin transaction;
select rowlock.shared(1);
\! psql -c 'set statement_timeout=20000' -c 'select rowlock.shared(1)'
rollback;
select rowlock.prepare(4);
begin transaction;
select rowlock.shared(4);
\! psql -c 'set statement_timeout=20000' -c 'select rowlock.shared(4)'
rollback;
-- test shared / exclusive: blocking
begin transaction;
select rowlock.shared(1);
\! psql -c 'set statement_timeout=1000' -c 'select rowlock.exclusive(1)'
rollback;
select rowlock.prepare(5);
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
rollback;
select rowlock.prepare(6);
begin transaction;
select rowlock.exclusive(6);
\! psql -c 'set statement_timeout=1000' -c 'select rowlock.shared(6)'
rollback;
-- test exclusive / exclusive: blocking
begin transaction;
select rowlock.exclusive(1);
\! psql -c 'set statement_timeout=1000' -c 'select rowlock.exclusive(1)'
rollback;
select rowlock.prepare(7);
begin transaction;
select rowlock.exclusive(7);
\! psql -c 'set statement_timeout=1000' -c 'select rowlock.exclusive(7)'
rollback;
select name from rowlock.names order by name;

-- ---- unlock --------------------------------------------------------------------------------------
-- removes the row, but it is unlocked, and gone, only when the transaction ends
begin transaction;
select rowlock.exclusive(1);
select rowlock.unlock(1);
\! psql -c 'set statement_timeout=1000' -c 'select rowlock.exclusive(1)'
\! psql -c 'select name from rowlock.names order by name'
commit;
select name from rowlock.names order by name;

-- ---- vacuum --------------------------------------------------------------------------------------
-- test vacuum: the article's removes all but what is locked. Here it waits for nobody either, and
-- prepared names stay, because a transaction could not lock them again without preparing them.
begin transaction;
select rowlock.shared(4);
\! psql -c 'set statement_timeout=20000' -c 'select rowlock.vacuum()'
commit;
select name from rowlock.names order by name;
