-- Records the failure of a refresh whose transaction was rolled back, on condition that the subject
-- has not changed since.
UPDATE rowlock_subject
   SET version = ?i, status = 'ERROR', began = NULL, description = ?t, host = ?t, pid = ?i,
       program = ?t, token = 0, {error} = ?t, {exit} = NULL, ended = {now}
 WHERE name = ?t AND version = ?i;
