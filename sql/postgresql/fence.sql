-- SPDX-License-Identifier: Apache-2.0
SELECT status, pg_catalog.convert_to(fenced, 'UTF8'), stays, pg_catalog.convert_to(detail, 'UTF8')
  FROM rowlock.fence(pg_catalog.convert_from($1::bytea, 'UTF8'), $2::bigint, $3::bigint);
