-- Gives back the session lock that a grant or a ticket has left when it failed.
CALL rowlock_unmark_lost();
