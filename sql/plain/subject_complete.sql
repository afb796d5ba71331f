UPDATE rowlock_subject
   SET status = 'COMPLETE', basis = ?i, ended = ?i, updated = ?i, {error} = NULL, {exit} = ?i
 WHERE name = ?t AND version = ?i AND status = 'PROCESSING';
