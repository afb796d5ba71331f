-- Who holds the name by a lease. Of a transaction SQLite tells nothing.
SELECT 'lease' AS kind, pid, host, command AS program,
       strftime('%Y-%m-%dT%H:%M:%fZ', acquired / 86400000.0 + 2440587.5) AS since,
       strftime('%Y-%m-%dT%H:%M:%fZ', beat.expires / 86400000.0 + 2440587.5) AS expires,
       note,
       (SELECT count(*) FROM rowlock_waiter AS waiter WHERE waiter.name = ?1
           AND waiter.seen > CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER))
           AS waiting
  FROM rowlock_lease JOIN rowlock_beat AS beat USING (token)
 WHERE name = ?1
   AND beat.expires > CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER)
 ORDER BY acquired;
