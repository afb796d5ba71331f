UPDATE rowlock_subject
   SET status = 'COMPLETE', basis = ?i, ended = {now}, updated = {now}, {error} = NULL,
       {exit} = ?i
 WHERE name = ?t AND version = ?i AND status = 'PROCESSING';
