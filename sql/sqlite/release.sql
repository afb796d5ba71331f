-- Ends a lease; 8: it was gone already.
-- ?1 token
DELETE FROM rowlock_beat WHERE token = ?1;
SELECT CASE changes() WHEN 0 THEN 8 ELSE 0 END AS status;
DELETE FROM rowlock_lease WHERE token = ?1;
