-- SPDX-License-Identifier: Apache-2.0
-- Marks the subject $1 as stale from now on.
SELECT rowlock.expire(pg_catalog.convert_from($1::bytea, 'UTF8'));
