-- Begins a refresh, on condition that the subject has not changed.
UPDATE rowlock_subject
   SET version = version + 1, status = 'PROCESSING', ended = NULL, {error} = NULL,
       {exit} = NULL, began = ?i, description = ?t, host = ?t, pid = ?i, program = ?t, token = ?i
 WHERE name = ?t AND version = ?i;
