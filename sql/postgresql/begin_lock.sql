-- SPDX-License-Identifier: Apache-2.0
SELECT status, pg_catalog.convert_to(name, 'UTF8'), stays, pg_catalog.convert_to(detail, 'UTF8')
  FROM rowlock.begin_lock($1::text, $2::bigint);
