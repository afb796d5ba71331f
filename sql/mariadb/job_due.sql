CALL rowlock_hasten_job(?, ?, ?);
