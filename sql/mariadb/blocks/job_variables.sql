-- The state of a job, which rowlock_read_job sets, and the decision of rowlock_decide_job.
DECLARE v_now_ms, v_version, v_planned_due, v_last, v_failed, v_running, v_free_ms BIGINT;
DECLARE v_stored VARCHAR(400) CHARACTER SET utf8mb4;
DECLARE v_tries, v_act, v_repeats INT;
DECLARE v_broken, v_held, v_not_started TINYINT;
DECLARE v_until_ms, v_instant, v_due, v_former BIGINT;
DECLARE v_outcome VARCHAR(20) CHARACTER SET utf8mb4;
