-- SPDX-License-Identifier: Apache-2.0
SELECT rowlock.expire(pg_catalog.convert_from($1::bytea, 'UTF8'));
