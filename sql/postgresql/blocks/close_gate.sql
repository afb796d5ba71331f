-- Deletes the gate `gate`, which is locked, if it has no members and no waiters. A member is
-- granted under a lock on the gate that leaves no trace in it: so above READ COMMITTED the snapshot
-- may be too old to show a member, and the gate stays until a vacuum.
DELETE FROM rowlock.lease l
 WHERE l.name = gate.name AND l.n = gate.n AND l.token = 0 AND {read_committed}
   AND NOT EXISTS (SELECT FROM rowlock.lease m WHERE m.name = gate.name AND m.n > gate.least)
   AND NOT EXISTS (SELECT FROM rowlock.waiter w
                    WHERE w.name = gate.name AND w.ticket > gate.served)
