-- Takes a ticket out of the queue, or whatever this owner has there.
-- ?1 ticket or 0, ?2 owner
DELETE FROM rowlock_waiter WHERE CASE ?1 WHEN 0 THEN owner = ?2 ELSE ticket = ?1 END;
