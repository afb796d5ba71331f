-- Deletes all tickets of one call.
DELETE FROM rowlock_waiter WHERE owner = ?t;
