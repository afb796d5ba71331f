-- SPDX-License-Identifier: Apache-2.0
SELECT rowlock.claim_job(pg_catalog.convert_from($1::bytea, 'UTF8'), $2::bigint, $3::bigint,
       pg_catalog.convert_from($4::bytea, 'UTF8'), $5::bigint, $6::bigint, $7::integer, $8::bigint,
       pg_catalog.convert_from($9::bytea, 'UTF8'), pg_catalog.convert_from($10::bytea, 'UTF8'),
       $11::bigint, $12::bigint, $13::integer);
