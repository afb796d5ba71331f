-- Sets the due time of a job: name, version, schedule, due, former, its outcome -> 1 planned.
CALL rowlock_plan_job(?, ?, ?, ?, ?, ?);
