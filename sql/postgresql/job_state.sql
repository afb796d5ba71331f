SELECT rowlock.now_ms(), coalesce(j.version, 0), pg_catalog.convert_to(j.schedule, 'UTF8'),
       coalesce(j.due, 0), coalesce(j.last, 0), coalesce(j.failed, 0), coalesce(j.repeats, 0),
       coalesce(j.running, 0),
       coalesce(r.outcome = 'broken', false)::integer, (h.free IS NOT NULL)::integer,
       coalesce(pg_catalog.floor(extract(epoch FROM h.free)::numeric * 1000.0), 0)::bigint,
       coalesce(r.outcome = 'not started', false)::integer
  FROM (SELECT {given $1} AS name) asked
  LEFT JOIN rowlock.job j ON j.name = asked.name COLLATE "C"
  LEFT JOIN rowlock.run r ON r.job = j.name AND r.token = j.running
 CROSS JOIN LATERAL (SELECT max(l.expires) AS free
                       FROM (SELECT {expires_of o} AS expires
                               FROM rowlock.lease o
                              WHERE o.name = ('job:' || asked.name) COLLATE "C" OFFSET 0) l
                      WHERE l.expires > pg_catalog.clock_timestamp()) h;
