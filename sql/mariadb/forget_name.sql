-- Technique row: deletes the row of a name unless a session has it locked.
CALL rowlock_remove(?);
