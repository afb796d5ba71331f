-- Under the write lock: does the ticket before us leave free what it waits for? 1 if it is first for all
-- its names, in the way of ours, and no live lease is in the way of either.
-- ?1 the suspect, ?2 our ticket
WITH clock AS (
    SELECT CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER) AS now),
waits AS (
    SELECT * FROM rowlock_waiter WHERE ticket IN (?1, ?2)),
live AS (
    SELECT waits.name, waits.mode AS wanted, waits."limit", waits.count, lease.token, lease.mode,
           waits.ticket
      FROM waits JOIN rowlock_lease AS lease ON lease.name = waits.name
                 JOIN rowlock_beat AS beat ON beat.token = lease.token, clock
     WHERE beat.expires > clock.now)
SELECT EXISTS (SELECT 1 FROM waits AS mine JOIN waits AS suspect USING (name)
                WHERE mine.ticket = ?2 AND suspect.ticket = ?1 AND ?1 < ?2)
   AND NOT EXISTS (SELECT 1 FROM waits AS suspect
                     JOIN rowlock_waiter AS waiter ON waiter.name = suspect.name, clock
                    WHERE suspect.ticket = ?1 AND waiter.ticket < ?1 AND waiter.seen > clock.now)
   AND NOT EXISTS (SELECT 1 FROM live
                    WHERE wanted = 'exclusive' OR wanted = 'shared' AND mode <> 'shared' OR
                          wanted = 'permit' AND (mode <> 'permit' OR
                              (SELECT count(*) FROM live AS held
                                WHERE held.ticket = live.ticket AND held.name = live.name
                                  AND held.mode = 'permit') + count > "limit")) AS idle;
