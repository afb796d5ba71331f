-- Alone: renews a lease of a row; in any other case it changes nothing. Waits for no lock:
-- rowlock_renew_lease does, if the lease still exists.
SET STATEMENT innodb_lock_wait_timeout = 0 FOR
UPDATE rowlock_name FORCE INDEX (PRIMARY)
   SET expires = GREATEST(expires, utc_timestamp(6) + INTERVAL ?2 * 1000 MICROSECOND)
 WHERE name = ?3 AND token = ?1 AND owner = ?4 AND held = 1 AND stop = 0
   AND {fast};
