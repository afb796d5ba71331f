-- SPDX-License-Identifier: Apache-2.0
SELECT rowlock.finish_subject(pg_catalog.convert_from($1::bytea, 'UTF8'), $2::bigint, $3::integer,
       pg_catalog.convert_from($4::bytea, 'UTF8'), $5::integer);
