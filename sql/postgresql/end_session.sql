-- SPDX-License-Identifier: Apache-2.0
-- Terminates session $1 if it is still the one that started at $2.
SELECT pg_catalog.pg_terminate_backend(a.pid)::integer FROM pg_catalog.pg_stat_activity a
 WHERE a.pid = $1::text::integer
   AND (extract(epoch FROM a.backend_start)::numeric * 1000000.0)::bigint = $2::text::bigint
   AND a.usename = current_user AND a.pid <> pg_catalog.pg_backend_pid();
