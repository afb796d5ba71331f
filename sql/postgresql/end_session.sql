SELECT pg_catalog.pg_terminate_backend(a.pid)::integer FROM pg_catalog.pg_stat_activity a
 WHERE a.pid = $1::text::integer
   AND pg_catalog.encode(pg_catalog.timestamptz_send(a.backend_start), 'hex') = $2::text
   AND a.usename = current_user AND a.pid <> pg_catalog.pg_backend_pid();
