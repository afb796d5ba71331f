-- Reads the place of a ticket, counted up to a limit by the index alone, whether the nearest
-- waiters before it live, and whether the name is leased. A crowd cannot afford to read every
-- waiter at each look.
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
