-- ?1 name or NULL
WITH clock AS (SELECT {now} AS now),
subject AS (
    SELECT s.*, coalesce(s.basis > coalesce(e.expired, -1), 0) AS counts,
           s.status = 'PROCESSING' AND NOT EXISTS (
               SELECT 1 FROM rowlock_lease l JOIN rowlock_heartbeat b ON b.token = l.token
                WHERE l.token = s.token AND b.expires > now) AS died
      FROM rowlock_subject s LEFT JOIN rowlock_expiry e ON e.name = s.name, clock
     WHERE ?1 IS NULL OR s.name = ?1)
SELECT name, description, CASE WHEN died THEN 'ERROR' ELSE status END, began, ended,
       CASE WHEN counts THEN updated END, CASE WHEN counts THEN max(now - updated, 0) END,
       program, host, pid,
       CASE WHEN died AND token = 0 THEN 'its transaction was committed before it finished'
            WHEN died THEN 'its holder died' ELSE error END, exit, basis IS NOT NULL
  FROM subject, clock ORDER BY name;
