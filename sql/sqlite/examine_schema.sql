SELECT 'leases', CASE WHEN e.many > 0 THEN 1 ELSE 0 END,
       CASE WHEN e.many > 0
           THEN e.many || ' expired more than a minute ago and not swept, the first at '
               || strftime('%Y-%m-%dT%H:%M:%SZ', e.first / 86400000.0 + 2440587.5)
           ELSE 'none has been expired for more than a minute' END,
       CASE WHEN e.many > 0 THEN 'rowlock vacuum' END
  FROM (SELECT count(*) AS many, min(expires) AS first FROM rowlock_heartbeat
         WHERE expires < {now} - 60000) e;
