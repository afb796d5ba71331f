-- ?1 name, ?2 version
UPDATE rowlock_subject
   SET status = 'COMPLETE', basis = began, ended = {now}, updated = {now}
 WHERE name = ?1 AND version = ?2 AND status = 'PROCESSING' AND token = 0;
SELECT CASE changes() WHEN 0 THEN 8 ELSE 0 END AS status;
