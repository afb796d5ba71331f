UPDATE rowlock_subject
   SET status = 'ERROR', ended = {now}, {error} = ?t, {exit} = ?i
 WHERE name = ?t AND version = ?i AND status = 'PROCESSING';
