-- Lists the leases of the name. SQLite does not show which transaction holds the write lock.
SELECT 'lease' AS kind, pid, host, command AS program,
       strftime('%Y-%m-%dT%H:%M:%fZ', acquired / 86400000.0 + 2440587.5) AS since,
       strftime('%Y-%m-%dT%H:%M:%fZ', heartbeat.expires / 86400000.0 + 2440587.5) AS expires,
       note,
       (SELECT count(*) FROM rowlock_waiter AS waiter WHERE waiter.name = ?1
           AND waiter.alive_until
               > CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER))
           AS waiting
  FROM rowlock_lease JOIN rowlock_heartbeat AS heartbeat USING (token)
 WHERE name = ?1
   AND heartbeat.expires > CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER)
 ORDER BY acquired;
