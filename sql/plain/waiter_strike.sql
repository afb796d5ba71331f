-- Deletes a ticket that has the mark of a roll call, of this one or an earlier one, on condition
-- that it has not answered since.
DELETE FROM rowlock_waiter WHERE ticket = ?i AND roll_call > 0 AND roll_call <= ?i;
