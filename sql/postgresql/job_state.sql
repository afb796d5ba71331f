SELECT s.now_ms, s.version, pg_catalog.convert_to(s.schedule, 'UTF8'), s.due, s.last, s.failed,
       s.repeats, s.running, s.broken::integer, s.held::integer, s.free_ms, s.not_started::integer
  FROM rowlock.job_state({given $1}) s;
