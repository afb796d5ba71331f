-- SPDX-License-Identifier: Apache-2.0
-- In the transaction that made the subject $1 anew.
SELECT rowlock.complete_subject(pg_catalog.convert_from($1::bytea, 'UTF8'), $2::bigint);
