-- Deletes a ticket, or all tickets of this owner.
-- ?1 ticket or 0, ?2 owner
DELETE FROM rowlock_waiter WHERE CASE ?1 WHEN 0 THEN owner = ?2 ELSE ticket = ?1 END;
