-- What a node has to know of a job before it decides: name.
CALL rowlock_job_state(?);
