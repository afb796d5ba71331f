-- Whether the lease with the token %.token has the name %.name and the owner %.owner, where NULL is
-- any. The collation keeps the planner from the index of names, and OFFSET 0 from a join.
(%.name IS NULL
 OR EXISTS (SELECT FROM rowlock.lease o
             WHERE o.token = %.token
               AND o.name COLLATE "default" = %.name
               AND (%.owner IS NULL OR o.owner = %.owner)
            OFFSET 0))
