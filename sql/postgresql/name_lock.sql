-- Directly after BEGIN, with look_one behind it: a plain statement, so that a new session need not
-- load the procedural language. The constant key refuses a role that may not execute rowlock's
-- functions, such as one that only reads.
SELECT CASE WHEN $2::bigint = 0 THEN pg_catalog.pg_advisory_xact_lock(k.key)
            ELSE pg_catalog.pg_advisory_xact_lock_shared(k.key) END
  FROM (SELECT {key_of $1::text} AS key) k
 WHERE pg_catalog.has_function_privilege('rowlock.key(text)', 'EXECUTE');
