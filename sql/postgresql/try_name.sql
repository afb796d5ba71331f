-- Directly after BEGIN. Whether the name lock was free is a setting of this transaction, which
-- grant_free behind it reads. The COMMIT waits for the disk, as after rowlock.make_durable.
SELECT pg_catalog.set_config('rowlock.free', (
           pg_catalog.pg_try_advisory_xact_lock(
               pg_catalog.hashtextextended($1::text COLLATE "C", 32210706056045419))
           AND CASE WHEN pg_catalog.current_setting('synchronous_commit') IN ('on', 'remote_apply')
                    THEN true
                    ELSE pg_catalog.set_config('synchronous_commit', 'on', true) IS NOT NULL END
           )::text, true);
