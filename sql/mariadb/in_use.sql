-- Technique row: a name whose row cannot be locked at once is locked by a transaction. Other
-- transactions are visible only while a session waits for them.
SELECT u.kind, SUM(u.n) AS n, LEFT(GROUP_CONCAT(u.name ORDER BY u.name SEPARATOR ', '), 60) AS some
  FROM (SELECT 1 AS rank_, 'leases' AS kind, 1 AS n, h.name FROM rowlock_holders h
        WHERE h.kind = 'lease'
        UNION ALL
        SELECT 2, 'waiters', 1, w.name FROM rowlock_waiters w WHERE w.kind = 'lease'
        UNION ALL
        SELECT 3, 'names locked by transactions', a.n - b.n, NULL
          FROM (SELECT count(*) AS n FROM rowlock_name) a
         CROSS JOIN (SELECT count(*) AS n
                     FROM (SELECT name FROM rowlock_name FOR UPDATE SKIP LOCKED) f) b
         WHERE a.n > b.n
        UNION ALL
        SELECT 4, 'transactions', 1, h.name FROM rowlock_holders h WHERE h.kind = 'transaction'
        UNION ALL
        SELECT 5, 'counters', 1, CONVERT(c.name USING utf8mb4) FROM rowlock_counter c
        UNION ALL
        SELECT 6, 'jobs', 1, CONVERT(j.name USING utf8mb4) FROM rowlock_job j
        UNION ALL
        SELECT 7, 'subjects', 1, CONVERT(s.name USING utf8mb4) FROM rowlock_subject s) u
 GROUP BY u.rank_, u.kind ORDER BY u.rank_;
