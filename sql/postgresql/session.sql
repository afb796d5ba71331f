-- SPDX-License-Identifier: Apache-2.0
-- Returns the number and the start time of this session.
SELECT a.pid, (extract(epoch FROM a.backend_start)::numeric * 1000000.0)::bigint
  FROM pg_catalog.pg_stat_get_activity(pg_catalog.pg_backend_pid()) a;
