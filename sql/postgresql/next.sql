-- SPDX-License-Identifier: Apache-2.0
SELECT rowlock.advance(pg_catalog.convert_from($1::bytea, 'UTF8'), $2::bigint, $3::bigint);
