-- Alone: one name, exclusively, if its row is free, and answers by LAST_INSERT_ID. Waits for no
-- lock. In any other case it changes nothing, and rowlock_grant decides. The look for other leases
-- depends on the row, so that it is made under the row's lock, and is a locking read, which has no
-- snapshot. A waiter that enters the queue after this statement began is not seen.
SET STATEMENT innodb_lock_wait_timeout = 0 FOR
UPDATE rowlock_name FORCE INDEX (PRIMARY)
   SET token = LAST_INSERT_ID({next_token}), held = 1, stop = 0,
       marked = IF(?8 = CONNECTION_ID(),
                   COALESCE(GET_LOCK(CONCAT('rowlock:', MD5(DATABASE()), ':', token), 0), 0), 0),
       expires = utc_timestamp(6) + INTERVAL ?3 * 1000 MICROSECOND,
       quiet_until = utc_timestamp(6) + INTERVAL ?9 * 1000 MICROSECOND,
       acquired = utc_timestamp(6), waited = 0, owner = ?2, host = ?4, pid = ?5, command = ?6,
       note = ?7
 WHERE name = ?1 AND held = 0 AND many = 0
   AND (SELECT count(*) FROM rowlock_lease l WHERE l.name = rowlock_name.name
          LOCK IN SHARE MODE) = 0
   AND NOT EXISTS (SELECT 1 FROM rowlock_waiter w WHERE w.name = ?1)
   AND {fast};
