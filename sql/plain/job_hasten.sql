-- Sets the due time of a job, on condition that the job has not changed.
UPDATE rowlock_job SET version = version + 1, due = ?i WHERE name = ?t AND version = ?i;
