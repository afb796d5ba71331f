-- Reads the names of a ticket.
SELECT name FROM rowlock_waiter WHERE ticket = ?i;
