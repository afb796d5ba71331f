-- Lengthens a life, never shortens it, never restores it.
-- ?1 token, ?2 ttl_ms
UPDATE rowlock_beat
   SET expires = max(expires, CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER) + ?2)
 WHERE token = ?1 AND NOT stop;
SELECT CASE
       WHEN changes() > 0 THEN 0
       WHEN EXISTS (SELECT 1 FROM rowlock_beat WHERE token = ?1) THEN 14
       ELSE 8 END AS status;
