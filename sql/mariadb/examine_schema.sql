SELECT 'leases' AS part,
       CASE WHEN c.name IS NOT NULL THEN 2 WHEN e.many > 0 THEN 1 ELSE 0 END AS status,
       CASE WHEN c.name IS NOT NULL
            THEN CONCAT('\'', CONVERT(c.name USING utf8mb4),
                        '\' has leases that exclude each other: a restore has added one')
            WHEN e.many > 0
            THEN CONCAT(e.many, ' expired more than a minute ago and not swept, the first at ',
                        DATE_FORMAT(e.first, '%Y-%m-%dT%H:%i:%sZ'))
            ELSE 'none has been expired for more than a minute' END AS finding,
       CASE WHEN c.name IS NOT NULL THEN 'rowlock ls, then rowlock break NAME --token TOKEN'
            WHEN e.many > 0 THEN 'rowlock vacuum' END AS advice
  FROM (SELECT count(*) AS many, min(expires) AS first FROM rowlock_alive
         WHERE expires < UTC_TIMESTAMP(6) - INTERVAL 1 MINUTE) e
 CROSS JOIN (SELECT MIN(d.name) AS name
               FROM (SELECT name FROM rowlock_held WHERE expires > UTC_TIMESTAMP(6)
                      GROUP BY name
                     HAVING count(DISTINCT token) > 1
                        AND (count(DISTINCT mode) > 1 OR MAX(mode) = 'exclusive')) d) c;
