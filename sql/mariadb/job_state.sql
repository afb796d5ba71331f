-- Reads the state of a job from which a node decides: name.
CALL rowlock_job_state(?);
