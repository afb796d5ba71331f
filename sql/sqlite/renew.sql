-- Extends a lease; never shortens or restores one. A lease of another name or owner counts as lost.
-- ?1 token, ?2 ttl_ms, ?3 name, ?4 owner or NULL: any
UPDATE rowlock_heartbeat
   SET expires = max(expires,
                     CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER) + ?2)
 WHERE token = ?1 AND NOT stop
   AND EXISTS (SELECT 1 FROM rowlock_lease AS own
                WHERE own.token = ?1 AND own.name = ?3 AND (?4 IS NULL OR own.owner = ?4));
SELECT CASE
       WHEN changes() > 0 THEN 0
       WHEN EXISTS (SELECT 1 FROM rowlock_heartbeat JOIN rowlock_lease AS own USING (token)
                     WHERE token = ?1 AND own.name = ?3 AND (?4 IS NULL OR own.owner = ?4)) THEN 14
       ELSE 8 END AS status;
