-- Directly after BEGIN, with look_one behind it: as rowlock.name_lock of technique native, but a
-- plain statement, so that a new session need not load the procedural language. The constant
-- can_share refuses a role that may not execute rowlock's functions, such as one that only reads.
SELECT CASE WHEN $2::bigint = 0 THEN pg_catalog.pg_advisory_xact_lock(k.key)
            ELSE pg_catalog.pg_advisory_xact_lock_shared(k.key) END
  FROM (SELECT pg_catalog.hashtextextended($1::text COLLATE "C", 32210706056045419) AS key) k
 WHERE rowlock.can_share();
