-- Deletes one expired lease in a transaction of its own: token.
CALL rowlock_sweep(?);
