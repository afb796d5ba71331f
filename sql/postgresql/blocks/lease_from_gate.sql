-- The rest of UPDATE rowlock.lease l SET alone = ..., which makes the gate `cur`, which is locked,
-- the lease of the call %. The statement may continue with conditions.
token = %.token, mode = 'exclusive', owner = %.owner,
expires = pg_catalog.clock_timestamp() + {interval %.ttl_ms}, acquired = {own_now},
quiet_until = quiet, waited = waiting_ms,
host = %.host, pid = %.pid, command = %.command, note = %.note,
queued = EXISTS (SELECT FROM rowlock.waiter w
                  WHERE w.name = cur.name AND w.ticket > greatest(%.ticket, cur.served)),
served = greatest(l.served, %.ticket), stop = false
 WHERE l.name = cur.name AND l.n = cur.n
