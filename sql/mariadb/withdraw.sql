-- Deletes a ticket: ticket, owner.
CALL rowlock_withdraw(?, ?);
