-- Ends a lease; 8: it had ended, or the token is that of another name or owner.
-- ?1 token, ?2 name, ?3 owner or NULL: any
DELETE FROM rowlock_heartbeat
 WHERE token = ?1
   AND EXISTS (SELECT 1 FROM rowlock_lease AS own
                WHERE own.token = ?1 AND own.name = ?2 AND (?3 IS NULL OR own.owner = ?3));
SELECT CASE changes() WHEN 0 THEN 8 ELSE 0 END AS status;
DELETE FROM rowlock_lease
 WHERE token IN (SELECT own.token FROM rowlock_lease AS own
                  WHERE own.token = ?1 AND own.name = ?2 AND (?3 IS NULL OR own.owner = ?3));
