-- SPDX-License-Identifier: Apache-2.0
-- One installer at a time, until its COMMIT. CREATE ... IF NOT EXISTS alone fails in a race.
SELECT pg_catalog.pg_advisory_xact_lock(8246125620394091379);
