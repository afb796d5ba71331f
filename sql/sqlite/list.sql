-- Lists holders and waiters of one name or of all names.
-- ?1 name or NULL
WITH clock AS (
    SELECT CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER) AS now)
SELECT 'held' AS state, name, mode, lease.token AS token, 0 AS ticket, owner, host, pid, command,
       note, min(acquired) AS since_ms, expires AS expires_ms, expires - now AS left_ms, "limit",
       count(*) AS count, stop
  FROM rowlock_lease AS lease JOIN rowlock_heartbeat AS heartbeat USING (token), clock
 WHERE (?1 IS NULL OR name = ?1) AND expires > now
 GROUP BY lease.token, name
UNION ALL
SELECT 'waiting', name, mode, 0, ticket, owner, host, pid, command, note, since, 0, 0, "limit",
       count, 0
  FROM rowlock_waiter, clock
 WHERE (?1 IS NULL OR name = ?1) AND alive_until > now
 ORDER BY state, ticket, name, token;
