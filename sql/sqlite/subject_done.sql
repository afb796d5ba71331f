-- ?1 name, ?2 version
UPDATE rowlock_subject
   SET status = 'COMPLETE', basis = began,
       ended = CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER),
       updated = CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER)
 WHERE name = ?1 AND version = ?2 AND status = 'PROCESSING' AND token = 0;
SELECT CASE changes() WHEN 0 THEN 8 ELSE 0 END AS status;
