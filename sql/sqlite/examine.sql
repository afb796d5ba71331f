-- ?1 and ?2 are for servers.
SELECT 'server', 0, 'SQLite ' || sqlite_version() || ', journal mode ' || j.journal_mode, NULL
  FROM pragma_journal_mode() j
 WHERE ?1 IS NOT NULL AND ?2 IS NOT NULL
UNION ALL
SELECT 'durability', CASE WHEN s.synchronous = 0 THEN 1 ELSE 0 END,
       CASE s.synchronous
           WHEN 0 THEN 'synchronous is OFF: after a crash of the machine the file may be damaged'
           WHEN 1 THEN 'after a crash of the machine the latest commits may be lost, and with them '
               || 'the latest leases'
           ELSE 'every commit is on disk' END,
       CASE WHEN s.synchronous = 0 THEN 'PRAGMA synchronous = NORMAL' END
  FROM pragma_synchronous() s;
