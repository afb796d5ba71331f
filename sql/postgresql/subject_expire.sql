-- SPDX-License-Identifier: Apache-2.0
-- From now on the subject $1 is stale.
SELECT rowlock.expire(pg_catalog.convert_from($1::bytea, 'UTF8'));
