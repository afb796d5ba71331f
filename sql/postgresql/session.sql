-- Returns the number and the start time of this session. The time is in hex, because its text
-- depends on settings of the session, and arithmetic would make a new session look up each
-- operator.
SELECT a.pid, pg_catalog.encode(pg_catalog.timestamptz_send(a.backend_start), 'hex')
  FROM pg_catalog.pg_stat_get_activity(pg_catalog.pg_backend_pid()) a;
