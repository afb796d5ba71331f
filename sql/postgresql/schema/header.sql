-- SPDX-License-Identifier: Apache-2.0
-- rowlock's schema, to be run by hand: psql -v ON_ERROR_STOP=1 -f this_file
BEGIN;
SELECT pg_catalog.pg_advisory_xact_lock(8246125620394091379); -- one installer at a time
