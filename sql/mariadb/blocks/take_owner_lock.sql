-- take_owner_lock
-- GET_LOCK counts its calls, so a session must not take again a lock that it holds. %: seconds
SET v_locked = COALESCE(IF(IS_USED_LOCK(v_lock) = CONNECTION_ID(), 1, GET_LOCK(v_lock, %)), 0);
