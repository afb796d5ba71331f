-- Reports old transactions only if they hold a name that no table contains, or are prepared;
-- list.sql lists the others.
SELECT 'leases', CASE WHEN e.count > 0 THEN 1 ELSE 0 END,
       CASE WHEN e.count > 0
           THEN e.count::text || ' expired more than a minute ago and not swept, the first at '
               || pg_catalog.to_char(e.first AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
           ELSE 'none has been expired for more than a minute' END,
       CASE WHEN e.count > 0 THEN 'rowlock vacuum' END
  FROM (SELECT pg_catalog.count(DISTINCT l.token) AS count, pg_catalog.min(l.expires) AS first
          FROM rowlock.lease l
         WHERE l.token > 0
           AND l.expires < pg_catalog.clock_timestamp() - interval '1 minute') e
UNION ALL
SELECT 'transactions', 1,
       CASE WHEN h.pid IS NULL THEN 'a ' || coalesce(h.note, 'prepared transaction')
           ELSE 'server session ' || h.pid::text END
    || ' holds a name since '
    || coalesce(pg_catalog.to_char(h.since AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
                'an unknown time'),
       CASE WHEN h.pid IS NULL THEN 'COMMIT PREPARED or ROLLBACK PREPARED'
           ELSE pg_catalog.format('end it, or SELECT pg_terminate_backend(%s);', h.pid) END
  FROM rowlock.holders h
 WHERE (h.kind = 'unknown' OR h.pid IS NULL AND h.kind = 'prepared transaction')
   AND h.since < pg_catalog.clock_timestamp() - interval '5 minutes';
