-- Lists names LIKE a pattern: the longest queues first, the longest wait, or by name. As list, and
-- the queue's length. SQLite's LIKE ignores the case of ASCII letters; the caller checks again.
-- ?1 pattern, escape !; ?2 order: 0 queue, 1 wait, 2 name; ?3 waiters of a name, ?4 rows; 0: all;
-- ?5 = 1: the other names follow, with all waiters
WITH clock AS (
    SELECT CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER) AS now),
listed AS (
    SELECT 'held' AS state, name, mode, lease.token AS token, 0 AS ticket, owner, host, pid,
           command, note, min(acquired) AS since_ms, expires AS expires_ms,
           expires - now AS left_ms, "limit", count(*) AS count, stop
      FROM rowlock_lease AS lease JOIN rowlock_heartbeat AS heartbeat USING (token), clock
     WHERE (?5 = 1 OR name LIKE ?1 ESCAPE '!') AND expires > now
     GROUP BY lease.token, name
    UNION ALL
    SELECT 'waiting', name, mode, 0, ticket, owner, host, pid, command, note, since, 0, 0, "limit",
           count, 0
      FROM rowlock_waiter, clock
     WHERE (?5 = 1 OR name LIKE ?1 ESCAPE '!') AND alive_until > now),
counted AS (
    SELECT *, state = 'waiting' AS waits, name LIKE ?1 ESCAPE '!' AS fits,
           sum(state = 'waiting') OVER (PARTITION BY name) AS queue,
           min(CASE WHEN state = 'waiting' THEN since_ms END) OVER (PARTITION BY name) AS oldest_ms,
           row_number() OVER (PARTITION BY name, state = 'waiting' ORDER BY ticket, token) AS place
      FROM listed),
numbered AS (
    SELECT *, row_number() OVER (
               ORDER BY NOT fits,
                        CASE ?2 WHEN 0 THEN -queue
                                WHEN 1 THEN coalesce(oldest_ms, 9223372036854775807)
                                ELSE 0 END, name, waits, ticket, token) AS number
      FROM counted
     WHERE NOT waits OR NOT fits OR ?3 = 0 OR place <= ?3)
SELECT state, name, mode, token, ticket, owner, host, pid, command, note, since_ms, expires_ms,
       left_ms, "limit", count, stop, queue
  FROM numbered
 WHERE ?4 = 0 OR number <= ?4
 ORDER BY number;
