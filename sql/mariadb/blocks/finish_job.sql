-- The body of rowlock_finish_job, which sets v_status. A token names its run, and the run its
-- lease.
DECLARE v_leases, v_runs, v_status INT;
DECLARE v_lock VARBINARY(255);
DECLARE v_expires DATETIME(6);
DECLARE v_stop TINYINT;
DECLARE v_outcome VARCHAR(20) CHARACTER SET utf8mb4;
{own_transaction};
SELECT COALESCE(CONCAT('job:', MAX(job)), '') INTO v_lock FROM rowlock_run WHERE token = p_token;
CALL rowlock_seize(p_token, v_lock, v_leases, v_expires, v_stop);
SELECT count(*), COALESCE(MAX(outcome), '') INTO v_runs, v_outcome
  FROM rowlock_run WHERE token = p_token;
CALL rowlock_check_answer(v_runs);
IF v_expires IS NULL OR v_leases = 0 THEN
    CALL rowlock_end_late(p_token, p_outcome, p_exit, p_output, v_status);
ELSEIF v_outcome IN ('done', 'failed', 'timed out') THEN
    -- the reply was lost; the minimum hold of the name still applies
    SET v_status = 0;
ELSE
    CALL rowlock_end_run(p_token, v_stop, p_outcome, p_exit, p_output);
    SET v_status = IF(v_stop, 14, 0);
END IF;
COMMIT AND NO CHAIN NO RELEASE;
