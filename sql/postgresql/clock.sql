-- SPDX-License-Identifier: Apache-2.0
SELECT (extract(epoch FROM pg_catalog.clock_timestamp())::numeric * 1000.0)::bigint;
