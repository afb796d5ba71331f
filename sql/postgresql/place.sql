-- SPDX-License-Identifier: Apache-2.0
SELECT status, number, before, free, expires_ms, locked,
       pg_catalog.convert_to(name, 'UTF8'), pg_catalog.convert_to(detail, 'UTF8')
  FROM rowlock.place($1::text, $2::bigint, $3::bigint, $4::bigint);
