-- The transactions that hold a name, by the name's key. Without the rights of pg_read_all_stats a
-- role sees only the pid and application_name of other users' sessions. A prepared transaction has
-- no pid, but a number of its own. One session has one row, and `alone` if it locks exclusively.
SELECT h.key, h.pid, h.prepared, CASE WHEN h.alone THEN 'exclusive' ELSE 'shared' END AS mode,
       coalesce(a.client_hostname, pg_catalog.host(a.client_addr)) AS host,
       nullif(a.application_name, '') AS program, a.xact_start AS since
  FROM (SELECT l.classid::bigint << 32 | l.objid::bigint AS key, l.pid,
               CASE WHEN l.pid IS NULL THEN l.virtualtransaction END AS prepared,
               pg_catalog.bool_or(l.mode = 'ExclusiveLock') AS alone
          FROM pg_catalog.pg_locks l
         WHERE {advisory_lock l} AND l.granted
         GROUP BY 1, 2, 3) h
  LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = h.pid
