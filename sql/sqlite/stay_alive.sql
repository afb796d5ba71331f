-- Records a sign of life of a waiter, which also answers a roll call. Deletes the tickets before
-- its own whose last sign of life is too old.
-- ?1 ticket, ?2 good_ms
UPDATE rowlock_waiter
   SET alive_until = max(alive_until,
                         CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER) + ?2),
       roll_call = NULL
 WHERE ticket = ?1;
DELETE FROM rowlock_waiter
 WHERE ticket IN (SELECT waiter.ticket
                    FROM rowlock_waiter AS me
                    JOIN rowlock_waiter AS waiter ON waiter.name = me.name
                   WHERE me.ticket = ?1 AND waiter.ticket < ?1
                     AND waiter.alive_until <=
                         CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER));
