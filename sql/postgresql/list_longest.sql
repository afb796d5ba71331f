SELECT r.state, {read_text r.lock_name}, r.mode, r.token, r.ticket, {read_text r.owner},
       {read_text r.host}, r.pid, {read_text r.command}, {read_text r.note}, r.since_ms,
       r.expires_ms, r.left_ms, r."limit", r."count", r.stop::integer, r.queue
  FROM (SELECT q.*, pg_catalog.row_number() OVER (
                   ORDER BY NOT q.fits, q.rank, q.lock_name COLLATE "C", q.waits, q.ticket,
                            q.token) AS number
          FROM (SELECT w.*, CASE $2::integer WHEN 0 THEN -w.queue
                                 WHEN 1 THEN coalesce(w.oldest_ms, 9223372036854775807::bigint)
                                 ELSE 0::bigint END AS rank
                  FROM (SELECT l.*, l.state = 'waiting'::text AS waits,
                               pg_catalog.count(*) FILTER (WHERE l.state = 'waiting'::text)
                                   OVER (PARTITION BY l.lock_name COLLATE "C") AS queue,
                               pg_catalog.min(l.since_ms) FILTER (WHERE l.state = 'waiting'::text)
                                   OVER (PARTITION BY l.lock_name COLLATE "C") AS oldest_ms,
                               pg_catalog.row_number()
                                   OVER (PARTITION BY l.lock_name COLLATE "C",
                                                      l.state = 'waiting'::text
                                         ORDER BY l.ticket, l.token) AS place
                          FROM (SELECT h.*, pg_catalog.textlike(
                                           h.lock_name COLLATE "C",
                                           pg_catalog.like_escape({given $1}, '!')) AS fits
                                  FROM rowlock.list(NULL) h) l
                         WHERE l.fits OR $5::integer = 1) w
                 WHERE NOT w.waits OR NOT w.fits OR $3::bigint = 0::bigint
                    OR w.place <= $3::bigint) q) r
 WHERE $4::bigint = 0::bigint OR r.number <= $4::bigint
 ORDER BY r.number;
