-- SPDX-License-Identifier: Apache-2.0
SELECT stale, age_ms
  FROM rowlock.look_at_subject(pg_catalog.convert_from($1::bytea, 'UTF8'), $2::bigint);
