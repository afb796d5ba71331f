-- Sets the due time of a job: name, version, due -> 1 done, 0 another version.
CALL rowlock_hasten_job(?, ?, ?);
