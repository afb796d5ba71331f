-- SPDX-License-Identifier: Apache-2.0
SELECT ({in_ms pg_catalog.clock_timestamp()})::bigint;
