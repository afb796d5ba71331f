-- A sign of life, which answers a roll call too, and the removal of the waiters before us that gave none.
-- ?1 ticket, ?2 good_ms
UPDATE rowlock_waiter
   SET seen = max(seen, CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER) + ?2),
       called = NULL
 WHERE ticket = ?1;
DELETE FROM rowlock_waiter
 WHERE ticket IN (SELECT waiter.ticket
                    FROM rowlock_waiter AS me
                    JOIN rowlock_waiter AS waiter ON waiter.name = me.name
                   WHERE me.ticket = ?1 AND waiter.ticket < ?1
                     AND waiter.seen <= CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER));
