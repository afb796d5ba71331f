SELECT r.state, r.name, r.mode, r.token, r.ticket, r.owner, r.host, r.pid, r.command, r.note,
       r.since_ms, r.expires_ms, r.left_ms, r.`limit`, r.`count`, r.stop, r.queue
  FROM (SELECT q.*, ROW_NUMBER() OVER (
                   ORDER BY NOT q.fits, q.position, q.name, q.waits, q.ticket, q.token)
                    AS number
          FROM (SELECT w.*, CASE w.sorting WHEN 0 THEN -w.queue
                                 WHEN 1 THEN COALESCE(w.oldest_ms, 9223372036854775807)
                                 ELSE 0 END AS position
                  FROM (SELECT l.*, l.state = 'waiting' AS waits, p.sorting, p.waiters, p.most,
                               CAST(l.name AS BINARY) LIKE p.pattern ESCAPE '!' AS fits,
                               SUM(l.state = 'waiting') OVER (PARTITION BY l.name) AS queue,
                               MIN(IF(l.state = 'waiting', l.since_ms, NULL))
                                   OVER (PARTITION BY l.name) AS oldest_ms,
                               ROW_NUMBER() OVER (PARTITION BY l.name, l.state = 'waiting'
                                                  ORDER BY l.ticket, l.token) AS place
                          FROM rowlock_listed l
                         CROSS JOIN (SELECT CAST(? AS BINARY) AS pattern,
                                            CAST(? AS SIGNED) AS sorting,
                                            CAST(? AS SIGNED) AS waiters,
                                            CAST(? AS SIGNED) AS most,
                                            CAST(? AS SIGNED) AS others) p
                         WHERE p.others = 1 OR CAST(l.name AS BINARY) LIKE p.pattern ESCAPE '!') w
                 WHERE NOT w.waits OR NOT w.fits OR w.waiters = 0 OR w.place <= w.waiters) q) r
 WHERE r.most = 0 OR r.number <= r.most
 ORDER BY r.number;
