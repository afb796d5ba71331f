-- Writes down what is due: name, version, schedule, due, former, its outcome -> planned (1).
CALL rowlock_plan_job(?, ?, ?, ?, ?, ?);
