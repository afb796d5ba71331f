-- SPDX-License-Identifier: Apache-2.0
-- Reads the clock by which leases expire.
SELECT (extract(epoch FROM pg_catalog.clock_timestamp())::numeric * 1000.0)::bigint;
