-- The expiry of the lease %: that of its heartbeat, if it has one. A subquery, because the planner
-- might join all heartbeats.
coalesce((SELECT b.expires FROM rowlock.heartbeat b WHERE b.token = %.token),
         %.expires)
