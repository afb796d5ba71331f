UPDATE rowlock_run SET outcome = ?t, {exit} = ?i, {output} = ?t, finished = ?i
 WHERE token = ?i;
