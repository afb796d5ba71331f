-- SPDX-License-Identifier: Apache-2.0
-- Breaks leases of the name $1: all ($2 = 0) or one, now ($3 = 1) or at the next renewal.
SELECT rowlock.break(pg_catalog.convert_from($1::bytea, 'UTF8'), $2::bigint, $3::integer <> 0);
