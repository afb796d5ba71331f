-- The expiry of the lease %, and whether it was broken, as one row.
LATERAL (SELECT coalesce(b.expires, %.expires) AS expires, coalesce(b.stop, false) AS stop
           FROM (VALUES (1)) one LEFT JOIN rowlock.heartbeat b ON b.token = %.token OFFSET 0)
