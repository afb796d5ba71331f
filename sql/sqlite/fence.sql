-- Checks, in the caller's transaction, that the lease exists. It writes the row unchanged, so that
-- no session can end the lease before the transaction ends; a read would not prevent that.
-- ?1 name, ?2 token
UPDATE rowlock_lease SET owner = owner WHERE token = ?2 AND name = ?1;
SELECT CASE changes() WHEN 0 THEN 8 ELSE 0 END AS status, ?1 AS name, 0 AS stays, NULL AS detail;
