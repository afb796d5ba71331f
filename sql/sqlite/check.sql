-- Reports the state of a lease by the clock.
-- ?1 name, ?2 token
WITH clock AS (
    SELECT CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER) AS now),
found AS (
    SELECT lease.mode, lease.owner, heartbeat.stop, heartbeat.expires - clock.now AS left_ms
      FROM rowlock_lease AS lease JOIN rowlock_heartbeat AS heartbeat USING (token), clock
     WHERE lease.token = ?2 AND lease.name = ?1 AND heartbeat.expires > clock.now LIMIT 1)
SELECT CASE WHEN found.left_ms IS NULL THEN 8 WHEN found.stop THEN 14 ELSE 0 END AS status,
       coalesce(found.left_ms, 0) AS left_ms,
       CASE found.mode WHEN 'exclusive' THEN 'x' WHEN 'shared' THEN 's' WHEN 'permit' THEN 'p' END
           AS mode, found.owner
  FROM clock LEFT JOIN found;
