-- The condition of the leases l of the name %. The search begins at the name's least token, if it
-- has one.
l.name = %
AND l.token + 0 >= coalesce((SELECT s.token FROM rowlock.least_token s WHERE s.name = %),
                            0::bigint)
