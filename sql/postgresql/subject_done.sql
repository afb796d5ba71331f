-- SPDX-License-Identifier: Apache-2.0
-- Records that the subject $1 is fresh, in the transaction that refreshed it.
SELECT rowlock.complete_subject(pg_catalog.convert_from($1::bytea, 'UTF8'), $2::bigint);
