-- Deletes all tickets of one call that acquires.
DELETE FROM rowlock_waiter WHERE owner = ?t;
