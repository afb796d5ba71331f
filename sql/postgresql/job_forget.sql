-- SPDX-License-Identifier: Apache-2.0
-- Deletes the job $1 and its history, unless it runs.
SELECT rowlock.forget_job(pg_catalog.convert_from($1::bytea, 'UTF8'));
