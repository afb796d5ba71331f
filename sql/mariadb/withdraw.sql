-- Out of the queue: ticket, owner.
CALL rowlock_withdraw(?, ?);
