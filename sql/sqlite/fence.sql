-- In the caller's transaction: is the lease still there? The row is written as it is, so that nobody
-- ends the lease before the transaction ends; a read would stop nobody.
-- ?1 name, ?2 token
UPDATE rowlock_lease SET owner = owner WHERE token = ?2 AND name = ?1;
SELECT CASE changes() WHEN 0 THEN 8 ELSE 0 END AS status, ?1 AS name, 0 AS stays, NULL AS detail;
