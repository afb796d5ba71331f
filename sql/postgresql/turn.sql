-- SPDX-License-Identifier: Apache-2.0
SELECT status, pg_catalog.convert_to(name, 'UTF8'), token, number,
       pg_catalog.convert_to(detail, 'UTF8')
  FROM rowlock.turn($1::text, $2::text, $3::bigint, $4::bigint, $5::bigint, $6::bigint,
       pg_catalog.convert_from($7::bytea, 'UTF8'), $8::bigint,
       pg_catalog.convert_from($9::bytea, 'UTF8'), pg_catalog.convert_from($10::bytea, 'UTF8'),
       $11::integer, $12::bigint);
