-- What is due, what runs where, how the last run ended: name or NULL.
CALL rowlock_list_jobs(?);
