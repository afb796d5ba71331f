-- Deletes the gate `gate`, which is locked, if it has no members and no waiters.
DELETE FROM rowlock.lease l
 WHERE l.name = gate.name AND l.n = gate.n AND l.token = 0
   AND NOT EXISTS (SELECT FROM rowlock.lease m WHERE m.name = gate.name AND m.n > gate.least)
   AND NOT EXISTS (SELECT FROM rowlock.waiter w
                    WHERE w.name = gate.name AND w.ticket > gate.served)
