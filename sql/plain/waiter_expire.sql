-- Deletes a ticket on condition that its last sign of life is too old.
DELETE FROM rowlock_waiter WHERE ticket = ?i AND alive_until <= {now};
