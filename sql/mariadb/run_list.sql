-- Lists the runs of a job, latest first: name.
CALL rowlock_list_runs(?);
