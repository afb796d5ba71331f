-- SPDX-License-Identifier: Apache-2.0
-- Deletes leases that expired more than a minute ago, 200 at most. Waits for no lock.
SELECT rowlock.sweep_some(pg_catalog.clock_timestamp() - interval '1 minute', 200::bigint);
