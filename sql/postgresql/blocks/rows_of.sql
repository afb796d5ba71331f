-- The rows of the names of the leases with the tokens %, in part. They are locked FOR UPDATE by name
-- before leases end that have several names, as a release and a waiter that queues do: so neither of
-- them is the victim of a deadlock.
rowlock.lease l
 WHERE l.name = ANY (ARRAY(SELECT d.name FROM rowlock.lease d
                            WHERE d.token = ANY (%) AND d.token > 0))
   AND l.n <= 0 AND l.token >= 0
