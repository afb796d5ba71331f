-- The condition of a grant that needs no sweep: the numbers are valid, and the name % has no lease,
-- expired or not. The statement must begin after the name lock was taken. o is the row of
-- rowlock.lift; s is the row of the name in rowlock.least_token, if it has one. OFFSET 0 makes the
-- planner search each name by its index instead of joining all leases.
o.origin = pg_catalog.pg_sequence_last_value('rowlock.lifted_for')
AND NOT EXISTS (SELECT FROM rowlock.lease l
                 WHERE l.name = %
                   AND l.token + 0 >= coalesce(s.token, 0::bigint) OFFSET 0)
