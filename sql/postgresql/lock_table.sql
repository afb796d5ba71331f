-- SPDX-License-Identifier: Apache-2.0
SELECT rowlock.lock_table(pg_catalog.convert_from($1::bytea, 'UTF8'), $2::integer = 1, $3::bigint);
