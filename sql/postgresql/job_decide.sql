SELECT o.act, s.now_ms, s.version, s.held::integer, coalesce(o.until_ms, 0),
       coalesce(o.instant, 0), o.due, o.repeats, o.former, (o.outcome = 'broken')::integer,
       pg_catalog.convert_to(s.schedule, 'UTF8')
  FROM rowlock.job_state({given $1}) s
 CROSS JOIN LATERAL rowlock.decide_job({given $2}, $3::bigint, $4::integer, $5::bigint,
                                       $6::integer = 1, {state_of s}) o;
