-- The history of a job: name.
CALL rowlock_list_runs(?);
