SELECT 'leases' AS part, IF(e.many > 0, 1, 0) AS status,
       IF(e.many > 0,
          CONCAT(e.many, ' expired more than a minute ago and not swept, the first at ',
                 DATE_FORMAT(e.first, '%Y-%m-%dT%H:%i:%sZ')),
          'none has been expired for more than a minute') AS finding,
       IF(e.many > 0, 'rowlock vacuum', NULL) AS advice
  FROM (SELECT count(*) AS many, min(expires) AS first FROM rowlock_alive
         WHERE expires < UTC_TIMESTAMP(6) - INTERVAL 1 MINUTE) e;
