UPDATE rowlock_job SET version = version + 1, due = ?i WHERE name = ?t AND version = ?i;
