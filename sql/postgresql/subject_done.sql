-- SPDX-License-Identifier: Apache-2.0
SELECT rowlock.complete_subject(pg_catalog.convert_from($1::bytea, 'UTF8'), $2::bigint);
