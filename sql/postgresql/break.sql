-- SPDX-License-Identifier: Apache-2.0
-- Breaks leases of the name $1: all of them ($2 = 0) or the one with token $2, now ($3 = 1) or at
-- the next renewal.
SELECT rowlock.break(pg_catalog.convert_from($1::bytea, 'UTF8'), $2::bigint, $3::integer <> 0);
