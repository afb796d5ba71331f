-- Deletes a ticket if its waiter has not reported in time.
DELETE FROM rowlock_waiter WHERE ticket = ?i AND alive_until <= {now};
