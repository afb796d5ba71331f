-- SPDX-License-Identifier: Apache-2.0
-- Records the result of a refresh of the subject $1 and ends its lease $2; $3 = 1: the refresh
-- failed.
SELECT rowlock.finish_subject(pg_catalog.convert_from($1::bytea, 'UTF8'), $2::bigint, $3::integer,
       pg_catalog.convert_from($4::bytea, 'UTF8'), $5::integer);
