-- SPDX-License-Identifier: Apache-2.0
-- Draws $3 numbers of the counter $1 and returns the first; a new counter starts with $2. Requires
-- the lock of counter:NAME.
SELECT rowlock.advance(pg_catalog.convert_from($1::bytea, 'UTF8'), $2::bigint, $3::bigint);
