-- SPDX-License-Identifier: Apache-2.0
SELECT rowlock.fail_subject(pg_catalog.convert_from($1::bytea, 'UTF8'), $2::bigint,
       pg_catalog.convert_from($3::bytea, 'UTF8'), pg_catalog.convert_from($4::bytea, 'UTF8'),
       $5::bigint, pg_catalog.convert_from($6::bytea, 'UTF8'),
       pg_catalog.convert_from($7::bytea, 'UTF8'));
