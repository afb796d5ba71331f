-- The condition of a grant that needs no sweep: the numbers are valid, and the name % has no lease,
-- expired or not. o is the row of rowlock.lift, s that of the name in rowlock.least_token, if it
-- has one. The statement must start after the name lock was taken. OFFSET 0 forces a lookup by
-- index for each name instead of a join that reads all leases.
o.origin = pg_catalog.pg_sequence_last_value('rowlock.lifted_for')
AND NOT EXISTS (SELECT FROM rowlock.lease l
                 WHERE l.name = %
                   AND l.token + 0 >= coalesce(s.token, 0::bigint) OFFSET 0)
