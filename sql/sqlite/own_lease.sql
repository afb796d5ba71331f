-- Finds a lease that this owner was granted before, when the reply was lost.
-- ?1 name, ?2 owner
SELECT token FROM rowlock_lease WHERE name = ?1 AND owner = ?2 LIMIT 1;
