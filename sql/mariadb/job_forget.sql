-- Forgets a job: name.
CALL rowlock_forget_job(?);
