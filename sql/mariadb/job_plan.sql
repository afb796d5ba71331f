CALL rowlock_plan_job({plan_values});
