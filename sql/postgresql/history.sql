SELECT {read_text e.name}, e.mode, e.permits, e.token, {read_text e.host}, e.pid,
       {read_text e.command}, {read_text e.note}, e.acquired, e.waited, e.ended, e.how, e.exit,
       e.is_run
  FROM ((SELECT h.name::text AS name, h.mode, h.permits, coalesce(h.token, 0) AS token, h.host,
                h.pid, h.command, h.note,
                pg_catalog.floor(coalesce(extract(epoch FROM h.acquired)::numeric, 0)
                                 * 1000.0)::bigint AS acquired, h.waited,
                pg_catalog.floor({in_ms h.ended})::bigint AS ended,
                h.how, 0 AS exit, 0 AS is_run
           FROM ((SELECT g.* FROM rowlock.history g    -- each of the two has its own index
                 WHERE g.ended >= pg_catalog.to_timestamp($2::bigint::double precision
                                                        / 1000.0::double precision)
                   AND ($1::bytea IS NULL OR g.name LIKE {given $1} ESCAPE '!')
                   AND $3::bigint = 0 AND g.how = 'released' AND g.waited >= $4::bigint
                   AND NOT EXISTS (SELECT FROM rowlock.run r
                                    WHERE r.token = g.token AND r.finished > 0)
                 ORDER BY g.ended DESC LIMIT $5::bigint)
                 UNION ALL
                 (SELECT b.* FROM rowlock.history b
                 WHERE b.ended >= pg_catalog.to_timestamp($2::bigint::double precision
                                                        / 1000.0::double precision)
                   AND ($1::bytea IS NULL OR b.name LIKE {given $1} ESCAPE '!')
                   AND b.how <> 'released' AND (b.waited >= $4::bigint OR b.token < 0)
                   AND NOT EXISTS (SELECT FROM rowlock.run r
                                    WHERE r.token = b.token AND r.finished > 0)
                 ORDER BY b.ended DESC LIMIT $5::bigint)) h)
        UNION ALL
        (SELECT 'job:' || r.job, 'exclusive', 1, r.token, r.node, r.pid, NULL, NULL, r.started, 0,
                r.finished, r.outcome, r.exit, 1
           FROM rowlock.run r
          WHERE r.finished > 0 AND r.finished >= $2::bigint
            AND ($1::bytea IS NULL OR 'job:' || r.job LIKE {given $1} ESCAPE '!')
            AND ($3::bigint = 0 OR r.outcome <> 'done') AND $4::bigint <= 0)) e
 ORDER BY e.ended DESC, e.token DESC
 LIMIT $5::bigint;
