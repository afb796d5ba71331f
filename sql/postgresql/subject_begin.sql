-- SPDX-License-Identifier: Apache-2.0
SELECT stale, age_ms, version
  FROM rowlock.begin_subject(pg_catalog.convert_from($1::bytea, 'UTF8'), $2::bigint, $3::bigint,
       pg_catalog.convert_from($4::bytea, 'UTF8'), pg_catalog.convert_from($5::bytea, 'UTF8'),
       $6::bigint, pg_catalog.convert_from($7::bytea, 'UTF8'));
