-- Checks for conflicts with a lease of this name, under the write lock. First it deletes expired
-- leases that conflict, and tickets whose waiter has not reported in time.
-- ?1 name, ?2 mode, ?3 limit, ?4 count, ?5 owner, ?6 ticket or 0
DELETE FROM rowlock_heartbeat
 WHERE expires <= CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER)
   AND token IN (SELECT token FROM rowlock_lease
                  WHERE name = ?1 AND (?2 <> 'shared' OR mode <> 'shared'));
DELETE FROM rowlock_lease
 WHERE token IN (SELECT token FROM rowlock_lease
                  WHERE name = ?1 AND (?2 <> 'shared' OR mode <> 'shared'))
   AND token NOT IN (SELECT token FROM rowlock_heartbeat);
DELETE FROM rowlock_waiter
 WHERE ticket IN (SELECT ticket FROM rowlock_waiter
                   WHERE name = ?1 AND ticket <> ?6
                     AND alive_until
                         <= CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER));
WITH other AS (
    SELECT DISTINCT "limit" FROM rowlock_lease
     WHERE name = ?1 AND mode = 'permit' AND "limit" <> ?3
    UNION
    SELECT "limit" FROM rowlock_waiter
     WHERE name = ?1 AND mode = 'permit' AND "limit" <> ?3 AND owner <> ?5),
in_the_way AS (
    SELECT token FROM rowlock_lease
     WHERE name = ?1
       AND (?2 = 'exclusive' OR ?2 = 'shared' AND mode <> 'shared' OR
            ?2 = 'permit' AND (mode <> 'permit' OR
                (SELECT count(*) FROM rowlock_lease
                 WHERE name = ?1 AND mode = 'permit') + ?4 > ?3)))
SELECT CASE
       WHEN ?6 <> 0 AND NOT EXISTS (SELECT 1 FROM rowlock_waiter
                                     WHERE ticket = ?6 AND name = ?1) THEN 12
       WHEN ?2 = 'permit' AND EXISTS (SELECT 1 FROM other) THEN 13
       WHEN EXISTS (SELECT 1 FROM in_the_way) THEN 3
       WHEN EXISTS (SELECT 1 FROM rowlock_waiter
                     WHERE name = ?1 AND owner <> ?5
                       AND ticket < CASE ?6 WHEN 0 THEN 9223372036854775807 ELSE ?6 END) THEN 11
       ELSE 0 END AS status,
       ?1 AS name,
       (SELECT token FROM in_the_way JOIN rowlock_heartbeat USING (token)
         ORDER BY expires LIMIT 1) AS token,
       (SELECT max(ticket) FROM rowlock_waiter
         WHERE name = ?1 AND owner <> ?5 AND ticket < CASE ?6 WHEN 0 THEN 9223372036854775807
             ELSE ?6 END) AS ticket,
       CASE ?2 WHEN 'permit' THEN
           'held or waited for with a limit of ' || (SELECT "limit" FROM other LIMIT 1) ||
           ', requested with ' || ?3 END AS detail;
