-- Alone: one name, exclusively, if its row is free, and answers by LAST_INSERT_ID. Waits for no
-- lock. In any other case it changes nothing, and rowlock_grant decides. The row itself excludes
-- all leases: others are granted only after `many` was set in it. The look at rowlock_lease is for
-- rows that a restore has added; no order of it and the row's lock matters. A waiter that enters
-- the queue after this statement began is not seen. The name of the session lock needs the new
-- token.
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
   AND NOT EXISTS (SELECT 1 FROM rowlock_lease l WHERE l.name = ?1)
   AND NOT EXISTS (SELECT 1 FROM rowlock_waiter w WHERE w.name = ?1)
   AND NOT FIND_IN_SET('SIMULTANEOUS_ASSIGNMENT', @@sql_mode)
   AND {fast};
