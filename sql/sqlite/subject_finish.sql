-- ?1 name, ?2 token, ?3 failed, ?4 error, ?5 exit
UPDATE rowlock_subject
   SET status = CASE WHEN ?3 THEN 'ERROR' ELSE 'COMPLETE' END, error = ?4, exit = ?5,
       basis = CASE WHEN ?3 THEN basis ELSE began END,
       updated = CASE WHEN ?3 THEN updated ELSE {now} END, ended = {now}
 WHERE name = ?1 AND token = ?2 AND status = 'PROCESSING'
   AND EXISTS (SELECT 1 FROM rowlock_lease WHERE token = ?2);
UPDATE rowlock_subject
   SET status = 'ERROR', error = 'its lease was lost before it finished', exit = ?5,
       ended = {now}
 WHERE name = ?1 AND token = ?2 AND status = 'PROCESSING';
INSERT OR IGNORE INTO rowlock_history SELECT * FROM rowlock_expired WHERE token = ?2;
DELETE FROM rowlock_heartbeat WHERE token = ?2;
SELECT CASE WHEN EXISTS (SELECT 1 FROM rowlock_lease WHERE token = ?2) THEN 0 ELSE 8 END AS status;
DELETE FROM rowlock_lease WHERE token = ?2;
