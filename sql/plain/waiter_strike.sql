-- Deletes the rows of a ticket that still have the number of this roll call or an earlier one: its
-- waiter has not answered.
DELETE FROM rowlock_waiter WHERE ticket = ?i AND roll_call > 0 AND roll_call <= ?i;
