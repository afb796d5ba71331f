-- SPDX-License-Identifier: Apache-2.0
-- Upgrades the extension: after this file come adopt.sql, upgrade.sql and the rest of an install.
\echo Use "ALTER EXTENSION rowlock UPDATE" to load this file. \quit

SELECT pg_catalog.pg_advisory_xact_lock(8246125620394091379); -- one installer at a time
