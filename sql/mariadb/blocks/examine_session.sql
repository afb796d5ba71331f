-- The rows of the statement examine that MySQL has too.
SELECT 'server' AS part, 0 AS status,
       CONCAT('MariaDB ', VERSION(), ', writable, in no cluster of several primaries') AS finding,
       NULL AS advice
UNION ALL
SELECT 'pooler', IF(p.kind = '', 0, 1),
       IF(p.kind = '', 'none: the session is the server''s own',
          CONCAT(p.kind, ': waiters poll, because no session of the server is theirs alone')),
       IF(p.kind = '', NULL, 'if hand-overs take too long, use a URL of the server itself')
  FROM (SELECT CASE WHEN c.client <=> CONNECTION_ID() THEN ''
                    WHEN c.moves = 1 THEN 'a proxy that assigns a session to each transaction'
                    ELSE 'a proxy' END AS kind
          FROM (SELECT ? AS client, ? AS moves) c) p
UNION ALL
SELECT 'isolation', IF(s.usual, 0, 1),
       CONCAT('transactions are ', REPLACE(@@GLOBAL.tx_isolation, '-', ' '), ' by default',
              IF(s.usual, '; rowlock begins its own at READ COMMITTED',
                 ': a lock inside your own transaction may be refused')),
       IF(s.usual, NULL, 'SET GLOBAL TRANSACTION ISOLATION LEVEL READ COMMITTED;')
  FROM (SELECT @@GLOBAL.tx_isolation IN ('READ-COMMITTED', 'REPEATABLE-READ') AS usual) s
UNION ALL
SELECT 'read-only', @@GLOBAL.tx_read_only,
       IF(@@GLOBAL.tx_read_only,
          'transactions are read-only by default: a lock in your own transaction may be refused',
          'transactions may write by default'),
       IF(@@GLOBAL.tx_read_only, 'SET GLOBAL TRANSACTION READ WRITE;', NULL)
