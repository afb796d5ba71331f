-- Locks a name: directly after BEGIN IMMEDIATE, or in the caller's transaction (?4), where the
-- first DELETE takes the write lock if the transaction does not have it yet. A leased name is
-- refused: in the caller's transaction as busy (1), because waiting here would block every renewal
-- in the file; else as leased (3), and the caller rolls back and waits outside a transaction.
-- ?1 name, ?2 shared, ?3 token of the caller's own lease or 0, ?4 in the caller's transaction
INSERT OR IGNORE INTO rowlock_history
SELECT * FROM rowlock_expired
 WHERE token IN (SELECT token FROM rowlock_lease
                  WHERE name = ?1 AND token <> ?3 AND (NOT ?2 OR mode <> 'shared'));
DELETE FROM rowlock_heartbeat
 WHERE expires <= CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER)
   AND token IN (SELECT token FROM rowlock_lease
                  WHERE name = ?1 AND token <> ?3 AND (NOT ?2 OR mode <> 'shared'));
DELETE FROM rowlock_lease
 WHERE token IN (SELECT token FROM rowlock_lease
                  WHERE name = ?1 AND token <> ?3 AND (NOT ?2 OR mode <> 'shared'))
   AND token NOT IN (SELECT token FROM rowlock_heartbeat);
SELECT CASE
       WHEN ?3 <> 0 AND NOT EXISTS (SELECT 1 FROM rowlock_lease
                                     WHERE token = ?3 AND name = ?1
                                       AND (mode = 'exclusive' OR ?2 AND mode = 'shared')) THEN 8
       WHEN EXISTS (SELECT 1 FROM rowlock_lease
                     WHERE name = ?1 AND token <> ?3 AND (NOT ?2 OR mode <> 'shared'))
       THEN CASE WHEN ?4 THEN 1 ELSE 3 END
       ELSE 0 END AS status,
       ?1 AS name, 0 AS stays,
       (SELECT coalesce(command, owner) || ' on host ' || host || coalesce(', pid ' || pid, '') ||
               coalesce(': ' || note, '')
          FROM rowlock_lease
         WHERE ?4 AND name = ?1 AND token <> ?3
           AND (NOT ?2 OR mode <> 'shared') LIMIT 1) AS detail;
