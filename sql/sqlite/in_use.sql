-- A transaction that holds a name has the write lock, for which uninstall waits.
SELECT u.kind, count(*), substr(group_concat(u.name, ', '), 1, 60)
  FROM (SELECT 1 AS rank, 'leases' AS kind, name FROM rowlock_holders
        UNION ALL
        SELECT 2, 'waiters', name FROM rowlock_waiters
        UNION ALL
        SELECT 3, 'counters', name FROM rowlock_counter
        UNION ALL
        SELECT 4, 'jobs', name FROM rowlock_job
        UNION ALL
        SELECT 5, 'subjects', name FROM rowlock_subject
         ORDER BY 1, 3) u
 GROUP BY u.rank, u.kind ORDER BY u.rank;
