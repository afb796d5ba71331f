-- Deletes a job and its history, unless it runs: name.
CALL rowlock_forget_job(?);
