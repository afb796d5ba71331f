-- SPDX-License-Identifier: Apache-2.0
-- Under the lock of counter:NAME: the first of $3 numbers of the counter $1, which begins with $2.
SELECT rowlock.advance(pg_catalog.convert_from($1::bytea, 'UTF8'), $2::bigint, $3::bigint);
