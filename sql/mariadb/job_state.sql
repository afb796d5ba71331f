CALL rowlock_job_state(?);
