-- Reads the position of a ticket without the write lock: the place row of dialect.h. The last
-- column tells whether something must be written: a sign of life, the answer to a roll call, or the
-- deletion of dead tickets. Every waiter runs this often, so it reads few rows: the live ticket
-- directly ahead, 17 signs of life (the waiters behind each dead ticket delete it), and up to 1000
-- index entries, which also count dead tickets.
-- ?1 ticket, ?2 good_ms
WITH clock AS (
    SELECT CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER) AS now),
me AS (
    SELECT * FROM rowlock_waiter WHERE ticket = ?1),
last_before AS (
    SELECT max((SELECT waiter.ticket FROM rowlock_waiter AS waiter
                 WHERE waiter.name = me.name AND waiter.ticket < ?1
                   AND waiter.alive_until > (SELECT now FROM clock)
                 ORDER BY waiter.ticket DESC LIMIT 1)) AS ticket
      FROM me),
live AS (
    SELECT me.name, me.mode AS wanted, me."limit", me.count, lease.token, lease.mode,
           heartbeat.expires
      FROM me JOIN rowlock_lease AS lease ON lease.name = me.name
              JOIN rowlock_heartbeat AS heartbeat ON heartbeat.token = lease.token, clock
     WHERE heartbeat.expires > clock.now),
in_the_way AS (
    SELECT token, name, expires FROM live
     WHERE wanted = 'exclusive' OR wanted = 'shared' AND mode <> 'shared' OR
           wanted = 'permit' AND (mode <> 'permit' OR
               (SELECT count(*) FROM live AS held
                 WHERE held.name = live.name AND held.mode = 'permit') + count > "limit"))
SELECT CASE
       WHEN NOT EXISTS (SELECT 1 FROM me) THEN 12
       WHEN last_before.ticket IS NOT NULL THEN 11
       WHEN EXISTS (SELECT 1 FROM in_the_way) THEN 3
       ELSE 0 END AS status,
       coalesce(last_before.ticket,
                (SELECT token FROM in_the_way ORDER BY expires LIMIT 1)) AS number,
       CASE WHEN last_before.ticket IS NULL THEN 0 ELSE
           (SELECT max((SELECT count(*)
                          FROM (SELECT 1 FROM rowlock_waiter AS waiter
                                 WHERE waiter.name = me.name AND waiter.ticket < ?1 LIMIT 1000)))
              FROM me) END AS before,
       NOT EXISTS (SELECT 1 FROM in_the_way) AS free,
       (SELECT min(expires) FROM in_the_way) - clock.now AS expires_ms,
       0 AS locked,
       coalesce((SELECT name FROM in_the_way ORDER BY expires LIMIT 1),
                (SELECT min(waiter.name) FROM me JOIN rowlock_waiter AS waiter
                    ON waiter.name = me.name
                 WHERE waiter.ticket = last_before.ticket),
                (SELECT min(name) FROM me)) AS name,
       NULL AS detail,
       EXISTS (SELECT 1 FROM me
                WHERE alive_until < clock.now + ?2 / 2 OR roll_call IS NOT NULL OR
                      (SELECT min(near.alive_until)
                         FROM (SELECT waiter.alive_until FROM rowlock_waiter AS waiter
                                WHERE waiter.name = me.name AND waiter.ticket < ?1
                                ORDER BY waiter.ticket DESC
                                    LIMIT 17) AS near) <= clock.now) AS stale
  FROM clock, last_before;
