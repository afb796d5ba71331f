-- SPDX-License-Identifier: Apache-2.0
SELECT status, left_ms, mode, pg_catalog.convert_to(owner, 'UTF8')
  FROM rowlock.check_lease(pg_catalog.convert_from($1::bytea, 'UTF8'), $2::bigint);
