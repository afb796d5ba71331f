-- SPDX-License-Identifier: Apache-2.0
-- Ends the lease $2 under which the subject $1 was made anew, or was not ($3 is 1).
SELECT rowlock.finish_subject(pg_catalog.convert_from($1::bytea, 'UTF8'), $2::bigint, $3::integer,
       pg_catalog.convert_from($4::bytea, 'UTF8'), $5::integer);
