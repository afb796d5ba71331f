-- After BEGIN IMMEDIATE, which takes the name lock of every name: sweeps expired leases of the
-- name, then looks for conflicting leases (3, leased: the caller rolls back and waits outside a
-- transaction).
-- ?1 name, ?2 shared, ?3 token of the caller's own lease or 0
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
                     WHERE name = ?1 AND token <> ?3 AND (NOT ?2 OR mode <> 'shared')) THEN 3
       ELSE 0 END AS status,
       ?1 AS name, 0 AS stays, NULL AS detail;
