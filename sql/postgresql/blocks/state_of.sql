-- The last parameters of decide_job, of a row of job_state.
%.now_ms, %.version, %.schedule, %.due, %.last, %.failed, %.repeats, %.running, %.broken, %.held,
%.free_ms, %.not_started
