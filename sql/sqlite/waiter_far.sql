-- Reads the place of a ticket, whether the waiters directly ahead live, and whether the name is
-- leased. It counts up to a limit and by the index alone, because in a crowd not every look can
-- read every waiter.
SELECT (SELECT COUNT(*) FROM (SELECT 1 FROM rowlock_waiter AS other
                               WHERE other.name = mine.name AND other.ticket < mine.ticket
                               LIMIT ?i)),
       (SELECT max(other.ticket) FROM rowlock_waiter AS other
         WHERE other.name = mine.name AND other.ticket < mine.ticket),
       (SELECT min(alive_until) > {now}
          FROM (SELECT alive_until FROM rowlock_waiter AS other
                 WHERE other.name = mine.name AND other.ticket < mine.ticket
                 ORDER BY other.ticket DESC LIMIT 17)),
       alive_until, roll_call, {now},
       EXISTS (SELECT 1 FROM rowlock_lease AS lease JOIN rowlock_heartbeat USING (token)
                WHERE lease.name = mine.name AND expires > {now})
  FROM rowlock_waiter AS mine WHERE name = ?t AND ticket = ?i;
