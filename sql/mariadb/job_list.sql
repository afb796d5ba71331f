-- Lists jobs with due time, current run and last result: name or NULL.
CALL rowlock_list_jobs(?);
