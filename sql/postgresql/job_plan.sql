-- SPDX-License-Identifier: Apache-2.0
SELECT rowlock.plan_job(pg_catalog.convert_from($1::bytea, 'UTF8'), $2::bigint,
       pg_catalog.convert_from($3::bytea, 'UTF8'), $4::bigint, $5::bigint,
       pg_catalog.convert_from($6::bytea, 'UTF8'));
