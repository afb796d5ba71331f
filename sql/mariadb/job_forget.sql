CALL rowlock_forget_job(?);
