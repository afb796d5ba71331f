-- The rows of list, in the order that the caller asks for; on MariaDB without transactions.
SELECT r.state, {read_text r.name}, r.mode, r.token, r.ticket, {read_text r.owner},
       {read_text r.host}, r.pid, {read_text r.command}, {read_text r.note}, r.since_ms,
       r.expires_ms, r.left_ms, r.{quoted limit}, r.{quoted count},
       CASE WHEN r.stop THEN 1 ELSE 0 END AS stop, r.queue
  FROM (SELECT q.*, {core}row_number() OVER (
                   ORDER BY NOT q.fits, q.position, q.name, q.waits, q.ticket, q.token) AS number
          FROM (SELECT w.*, CASE w.sorting WHEN 0 THEN -w.queue
                                 WHEN 1 THEN coalesce(w.oldest_ms, 9223372036854775807)
                                 ELSE 0 END AS position
                  FROM (SELECT l.*, l.state = 'waiting' AS waits, asked.sorting, asked.waiters,
                               asked.most, {is_asked l.name} AS fits,
                               {core}sum(CASE WHEN l.state = 'waiting' THEN 1 ELSE 0 END)
                                   OVER (PARTITION BY l.name) AS queue,
                               {core}min(CASE WHEN l.state = 'waiting' THEN l.since_ms END)
                                   OVER (PARTITION BY l.name) AS oldest_ms,
                               {core}row_number() OVER (PARTITION BY l.name, l.state = 'waiting'
                                                  ORDER BY l.ticket, l.token) AS place
                          FROM {listed} AS l CROSS JOIN ({list_choice}) AS asked
                         WHERE asked.others = 1 OR {is_asked l.name}) AS w
                 WHERE NOT w.waits OR NOT w.fits OR w.waiters = 0 OR w.place <= w.waiters) AS q)
       AS r
 WHERE r.most = 0 OR r.number <= r.most
 ORDER BY r.number;
