-- True if a lease has the token %.token, the name %.name and the owner %.owner; NULL is any.
-- schema/lease.sql explains the collation; OFFSET 0 prevents a join.
EXISTS (SELECT FROM rowlock.lease o
         WHERE o.token = %.token
           AND (%.name IS NULL
                OR o.name COLLATE "default" = %.name AND (%.owner IS NULL OR o.owner = %.owner))
        OFFSET 0)
