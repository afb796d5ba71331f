-- SPDX-License-Identifier: Apache-2.0
SELECT pg_catalog.pg_backend_pid()::bigint;
