-- 0; and releases the session lock of the number % when the transaction has ended. This is
-- rowlock.session_unlock written out, because a call would cost more.
CASE WHEN pg_catalog.strpos(pg_catalog.current_setting('rowlock.session_locks', true),
                            pg_catalog.concat(',', %, ',')) > 0
     THEN CASE WHEN pg_catalog.pg_advisory_xact_lock(pg_catalog.hashint8extended(
                        %, 8386112019297791602)) IS NULL THEN 0
               WHEN pg_catalog.pg_advisory_unlock(pg_catalog.hashint8extended(
                        %, 8386112019297791602))
               THEN pg_catalog.length(pg_catalog.set_config('rowlock.session_locks',
                        pg_catalog.replace(pg_catalog.current_setting('rowlock.session_locks'),
                                           pg_catalog.concat(',', %, ','), ''), false)) * 0
               ELSE 0 END
     ELSE 0 END
