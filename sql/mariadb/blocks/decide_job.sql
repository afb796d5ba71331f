-- Sets job_variables for the job % by the parameters of the caller.
CALL rowlock_read_job(%, v_now_ms, v_version, v_stored, v_planned_due, v_last, v_failed, v_tries,
                      v_running, v_broken, v_held, v_free_ms, v_not_started);
CALL rowlock_decide_job(p_schedule, p_early_ms, p_retry, p_backoff_ms, p_skips_missed, v_now_ms,
                        v_version, v_stored, v_planned_due, v_last, v_failed, v_tries, v_running,
                        v_broken, v_held, v_free_ms, v_not_started, v_act, v_until_ms, v_instant,
                        v_due, v_repeats, v_former, v_outcome);
