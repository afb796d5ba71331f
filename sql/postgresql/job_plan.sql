SELECT rowlock.plan_job({plan_values});
