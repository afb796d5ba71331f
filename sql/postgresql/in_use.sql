-- A transaction that has locked a name has read the table lease: its lock on that table shows it.
SELECT u.kind, pg_catalog.count(*),
       pg_catalog.left(pg_catalog.string_agg(u.name, ', ' ORDER BY u.name COLLATE "C"), 60)
  FROM (SELECT CASE l.state WHEN 'held' THEN 1 ELSE 2 END AS rank,
        CASE l.state WHEN 'held' THEN 'leases' ELSE 'waiters' END AS kind, l.lock_name AS name
          FROM rowlock.list(NULL) l WHERE l.state <> 'transaction'
        UNION ALL
        SELECT DISTINCT 3, 'transactions', 'pid ' || k.pid::text FROM pg_catalog.pg_locks k
         WHERE k.locktype = 'relation' AND k.relation = 'rowlock.lease'::pg_catalog.regclass::oid
           AND k.database = (SELECT d.oid FROM pg_catalog.pg_database d
                             WHERE d.datname = pg_catalog.current_database())
           AND k.mode IN ('AccessShareLock', 'RowShareLock', 'RowExclusiveLock')
           AND k.pid <> pg_catalog.pg_backend_pid()
        UNION ALL
        SELECT 4, 'counters', c.name FROM rowlock.counter c
        UNION ALL
        SELECT 5, 'jobs', j.name FROM rowlock.job j
        UNION ALL
        SELECT 6, 'subjects', s.name FROM rowlock.subject s) u
 GROUP BY u.rank, u.kind ORDER BY u.rank;
