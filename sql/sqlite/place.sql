-- Where a ticket stands, as far as can be read without the write lock: the row of dialect.h, and
-- last whether something is to be written: a sign of life, the answer to a roll call, or the removal of
-- dead tickets.
-- ?1 ticket, ?2 good_ms
WITH clock AS (
    SELECT CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER) AS now),
me AS (
    SELECT * FROM rowlock_waiter WHERE ticket = ?1),
ahead AS (
    SELECT DISTINCT waiter.ticket, waiter.seen > clock.now AS lives
      FROM me JOIN rowlock_waiter AS waiter ON waiter.name = me.name AND waiter.ticket < ?1, clock),
live AS (
    SELECT me.name, me.mode AS wanted, me."limit", me.count, lease.token, lease.mode, beat.expires
      FROM me JOIN rowlock_lease AS lease ON lease.name = me.name
              JOIN rowlock_beat AS beat ON beat.token = lease.token, clock
     WHERE beat.expires > clock.now),
in_the_way AS (
    SELECT token, name, expires FROM live
     WHERE wanted = 'exclusive' OR wanted = 'shared' AND mode <> 'shared' OR
           wanted = 'permit' AND (mode <> 'permit' OR
               (SELECT count(*) FROM live AS held
                 WHERE held.name = live.name AND held.mode = 'permit') + count > "limit"))
SELECT CASE
       WHEN NOT EXISTS (SELECT 1 FROM me) THEN 12
       WHEN EXISTS (SELECT 1 FROM ahead WHERE lives) THEN 11
       WHEN EXISTS (SELECT 1 FROM in_the_way) THEN 3
       ELSE 0 END AS status,
       coalesce((SELECT max(ticket) FROM ahead WHERE lives),
                (SELECT token FROM in_the_way ORDER BY expires LIMIT 1)) AS number,
       (SELECT count(*) FROM ahead WHERE lives) AS before,
       NOT EXISTS (SELECT 1 FROM in_the_way) AS free,
       (SELECT min(expires) FROM in_the_way) - clock.now AS expires_ms,
       0 AS locked,
       coalesce((SELECT name FROM in_the_way ORDER BY expires LIMIT 1),
                (SELECT min(waiter.name) FROM me JOIN rowlock_waiter AS waiter
                    ON waiter.name = me.name
                 WHERE waiter.ticket = (SELECT max(ticket) FROM ahead WHERE lives)),
                (SELECT min(name) FROM me)) AS name,
       NULL AS detail,
       EXISTS (SELECT 1 FROM ahead WHERE NOT lives) OR
       EXISTS (SELECT 1 FROM me WHERE seen < clock.now + ?2 / 2 OR called IS NOT NULL) AS stale
  FROM clock;
