{examine_session}
UNION ALL
SELECT 'undo', IF(h.length > 100000, 1, 0),
       CONCAT('InnoDB keeps ', h.length, ' old versions of rows',
              IF(h.length > 100000, ', perhaps for an old transaction: locks become slow', '')),
       IF(h.length > 100000,
          CONCAT('end the oldest transaction: SELECT trx_mysql_thread_id, trx_started FROM ',
                 'information_schema.innodb_trx ORDER BY trx_started LIMIT 1; KILL that session'),
          NULL)
  FROM (SELECT CAST(MAX(variable_value) AS SIGNED) AS length FROM information_schema.global_status
         WHERE variable_name = 'INNODB_HISTORY_LIST_LENGTH') h;
