-- SPDX-License-Identifier: Apache-2.0
-- Locks the table $1 in the open transaction ($2 = 1: shared); waits up to $3 ms.
SELECT rowlock.lock_table(pg_catalog.convert_from($1::bytea, 'UTF8'), $2::integer = 1, $3::bigint);
