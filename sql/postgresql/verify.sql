-- Once in a session, before its first grant_free: which numbers are valid, and for which origin.
-- The least number is read after the origin, because a lift records that last. No row: they must be
-- lifted first (next_number), or a fast statement is of no use, because transactions are not READ
-- COMMITTED, READ WRITE and durable by default, or another session answers, behind a pooler.
SELECT o.xmin::text, pg_catalog.pg_postmaster_start_time()::text,
       coalesce(pg_catalog.pg_sequence_last_value('rowlock.lifted'), 0), {quiet_ms}
  FROM rowlock.origin o, rowlock.lifted_for f
 WHERE f.last_value = {origin_of o} AND pg_catalog.pg_backend_pid() = $1::bigint
   AND pg_catalog.current_setting('default_transaction_isolation') = 'read committed'
   AND pg_catalog.current_setting('default_transaction_read_only') = 'off'
   AND pg_catalog.current_setting('synchronous_commit') IN ('on', 'remote_apply')
   AND NOT pg_catalog.pg_is_in_recovery();
