-- Alone: ends a lease of a row that has not expired, leaves no row in the history, and has no
-- queue; in any other case it changes nothing. No session waits for its session lock, which this
-- releases before the COMMIT. Waits for no lock: rowlock_release_lease does.
SET STATEMENT innodb_lock_wait_timeout = 0 FOR
UPDATE rowlock_name FORCE INDEX (rowlock_name_fence)
   SET held = 0,
       marked = COALESCE(RELEASE_LOCK(CONCAT('rowlock:', MD5(DATABASE()), ':', token)), 0) * 0
 WHERE name = ?2 AND token = ?1 AND owner = ?3 AND held = 1 AND stop = 0
   AND expires > utc_timestamp(6) AND quiet_until > utc_timestamp(6)
   AND NOT EXISTS (SELECT 1 FROM rowlock_waiter w WHERE w.name = ?2)
   AND {fast};
