-- A statement of its own, behind name_lock: it reads what was committed during the wait for the
-- lock. A name without a lease has no row, or one that says where it has moved.
SELECT CASE WHEN (SELECT k.name FROM rowlock.leased(ARRAY[$1::text],
                         ARRAY[CASE WHEN $2::bigint = 0 THEN 'exclusive' ELSE 'shared' END]) k)
                 IS NULL THEN 0 ELSE 3 END
  FROM (SELECT l.token FROM rowlock.lease l WHERE l.name = $1::text COLLATE "C" AND l.n <= 0
         ORDER BY l.n LIMIT 1) f
 WHERE f.token >= 0;
