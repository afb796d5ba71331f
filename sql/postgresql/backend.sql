-- SPDX-License-Identifier: Apache-2.0
-- Returns the server's id of the session that answers.
SELECT pg_catalog.pg_backend_pid()::bigint;
