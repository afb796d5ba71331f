-- The rows of the names of the leases with the tokens %. They are locked by name before leases end
-- that have several names, as a release and a waiter that queues lock them: so neither of those is
-- the victim of a deadlock.
rowlock.lease l
 WHERE l.name = ANY (ARRAY(SELECT d.name FROM rowlock.lease d
                            WHERE d.token = ANY (%) AND d.token > 0))
   AND l.n <= 0 AND l.token >= 0
