-- A lease of this owner that is there already: the reply to its grant was lost.
-- ?1 name, ?2 owner
SELECT token FROM rowlock_lease WHERE name = ?1 AND owner = ?2 LIMIT 1;
