-- Serializes installers until COMMIT. CREATE ... IF NOT EXISTS alone fails when two sessions race.
SELECT pg_catalog.pg_advisory_xact_lock(8246125620394091379);
