-- SPDX-License-Identifier: Apache-2.0
-- The article's transcript at the mariadb client, technique row. Differences from the article:
--   * Procedures: rowlock_begin_exclusive and rowlock_begin_shared begin the transaction, because a
--     new key must be a committed row before that. So they need no preparation for a new key. A lock
--     later in the transaction (rowlock_exclusive) is refused if its name is unknown.
--   * MariaDB's statement_timeout is max_statement_time, in seconds; SET STATEMENT sets it for one
--     statement. A wait that must succeed may last 20 seconds, so that the test passes on a slow
--     machine. A wait that must be cancelled lasts one. Its error is 1205, as for every lock that
--     was not acquired.
--   * No table shows a lock that has no waiter. A second client detects a lock by the rows that it
--     cannot lock.
--   * Every key remains, whichever client locked it and in whichever mode.
--   * A command after \! ends at the delimiter.

-- ---- the locks -----------------------------------------------------------------------------------
call rowlock_begin_shared(1);
commit;
select name from rowlock_names;
select @@tx_isolation;

-- test shared: lock in share mode on the row
call rowlock_prepare(2);
call rowlock_prepare(3);
call rowlock_begin_shared(1);
call rowlock_shared(2);
\! mariadb -t -vv -e 'select name as to_share from rowlock_name order by name lock in share mode skip locked'
\! mariadb -t -vv -e 'select name as to_have from rowlock_name order by name for update skip locked'
rollback;

-- test exclusive: for update
call rowlock_begin_exclusive(1);
call rowlock_exclusive(3);
\! mariadb -t -vv -e 'select name as to_share from rowlock_name order by name lock in share mode skip locked'
\! mariadb -t -vv -e 'select name as to_have from rowlock_name order by name for update skip locked'
rollback;

-- ---- the wait ------------------------------------------------------------------------------------
-- test shared / shared: not blocking; a key that is known, then a new one
call rowlock_begin_shared(1);
\! mariadb -t -vv -e 'set statement max_statement_time=20 for call rowlock_begin_shared(1)'
rollback;
call rowlock_begin_shared(4);
\! mariadb -t -vv -e 'set statement max_statement_time=20 for call rowlock_begin_shared(4)'
rollback;
-- test shared / exclusive: blocking
call rowlock_begin_shared(1);
\! mariadb -t -vv -e 'set statement max_statement_time=1 for call rowlock_begin_exclusive(1)'
rollback;
call rowlock_begin_shared(5);
\! mariadb -t -vv -e 'set statement max_statement_time=1 for call rowlock_begin_exclusive(5)'
rollback;
-- test exclusive / shared: blocking
call rowlock_begin_exclusive(1);
\! mariadb -t -vv -e 'set statement max_statement_time=1 for call rowlock_begin_shared(1)'
rollback;
call rowlock_begin_exclusive(6);
\! mariadb -t -vv -e 'set statement max_statement_time=1 for call rowlock_begin_shared(6)'
rollback;
-- test exclusive / exclusive: blocking
call rowlock_begin_exclusive(1);
\! mariadb -t -vv -e 'set statement max_statement_time=1 for call rowlock_begin_exclusive(1)'
rollback;
call rowlock_begin_exclusive(7);
\! mariadb -t -vv -e 'set statement max_statement_time=1 for call rowlock_begin_exclusive(7)'
-- later in the transaction a new key is refused
call rowlock_exclusive(8);
rollback;
select name from rowlock_names order by name;

-- ---- unlock --------------------------------------------------------------------------------------
-- removes the row, but it is unlocked, and gone, only when the transaction ends
call rowlock_begin_exclusive(1);
call rowlock_unlock(1);
\! mariadb -t -vv -e 'set statement max_statement_time=1 for call rowlock_begin_exclusive(1)'
\! mariadb -t -vv -e 'select name from rowlock_names order by name'
commit;
select name from rowlock_names order by name;

-- ---- vacuum --------------------------------------------------------------------------------------
-- test vacuum: removes all but what is locked, and waits for nobody
call rowlock_begin_shared(4);
delimiter //
\! mariadb -t -vv -e 'set statement max_statement_time=20 for call rowlock_vacuum(@removed); select @removed'
delimiter ;
commit;
select name from rowlock_names;
