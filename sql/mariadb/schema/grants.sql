-- rowlock on MariaDB: the minimum that the role or account application needs to lock. Run it in
-- rowlock's database, after the technique's piece. The procedures run with the caller's rights, so
-- the account needs rights on the tables. An account that only locks needs no CREATE, ALTER or
-- DROP. PROCESS is optional and shows which session holds a row.
--
-- An account that only monitors needs the views and the tables under them, and no EXECUTE. For an
-- account monitoring:
--   GRANT SELECT ON rowlock_holders TO monitoring;
--   GRANT SELECT ON rowlock_waiters TO monitoring;
--   GRANT SELECT ON rowlock_names TO monitoring;
--   GRANT SELECT ON rowlock_jobs TO monitoring;
--   GRANT SELECT ON rowlock_subjects TO monitoring;
--   GRANT SELECT ON rowlock_transactions TO monitoring;
--   GRANT SELECT ON rowlock_meta TO monitoring;
--   GRANT SELECT ON rowlock_name TO monitoring;
--   GRANT SELECT ON rowlock_lease TO monitoring;
--   GRANT SELECT ON rowlock_heartbeat TO monitoring;
--   GRANT SELECT ON rowlock_waiter TO monitoring;
--   GRANT SELECT ON rowlock_counter TO monitoring;
--   GRANT SELECT ON rowlock_job TO monitoring;
--   GRANT SELECT ON rowlock_run TO monitoring;
--   GRANT SELECT ON rowlock_history TO monitoring;
--   GRANT SELECT ON rowlock_subject TO monitoring;
--   GRANT SELECT ON rowlock_expiry TO monitoring;
--   GRANT PROCESS ON *.* TO monitoring;         -- to see transactions; not through a role

GRANT EXECUTE ON PROCEDURE rowlock_begin_exclusive TO application;
GRANT EXECUTE ON PROCEDURE rowlock_begin_shared TO application;
GRANT EXECUTE ON PROCEDURE rowlock_exclusive TO application;
GRANT EXECUTE ON PROCEDURE rowlock_shared TO application;
GRANT EXECUTE ON PROCEDURE rowlock_try_exclusive TO application;
GRANT EXECUTE ON PROCEDURE rowlock_try_shared TO application;
GRANT EXECUTE ON PROCEDURE rowlock_unlock TO application;
GRANT EXECUTE ON PROCEDURE rowlock_prepare TO application;
GRANT EXECUTE ON PROCEDURE rowlock_vacuum TO application;
GRANT EXECUTE ON PROCEDURE rowlock_acquire TO application;
GRANT EXECUTE ON PROCEDURE rowlock_renew TO application;
GRANT EXECUTE ON PROCEDURE rowlock_release TO application;
GRANT EXECUTE ON PROCEDURE rowlock_fence TO application;
GRANT EXECUTE ON PROCEDURE rowlock_sweep TO application;
GRANT EXECUTE ON PROCEDURE rowlock_check_server TO application;
GRANT EXECUTE ON PROCEDURE rowlock_pack TO application;
GRANT EXECUTE ON PROCEDURE rowlock_misuse TO application;
GRANT EXECUTE ON PROCEDURE rowlock_next_want TO application;
GRANT EXECUTE ON PROCEDURE rowlock_real_time TO application;
GRANT EXECUTE ON PROCEDURE rowlock_look TO application;
GRANT EXECUTE ON PROCEDURE rowlock_describe_holder TO application;
GRANT EXECUTE ON PROCEDURE rowlock_expired TO application;
GRANT EXECUTE ON PROCEDURE rowlock_sweep_within TO application;
GRANT EXECUTE ON PROCEDURE rowlock_lock_own_lease TO application;
GRANT EXECUTE ON PROCEDURE rowlock_seconds TO application;
GRANT EXECUTE ON PROCEDURE rowlock_prepare_wants TO application;
GRANT EXECUTE ON PROCEDURE rowlock_begin_wants TO application;
GRANT EXECUTE ON PROCEDURE rowlock_look_at_wants TO application;
GRANT EXECUTE ON PROCEDURE rowlock_lock_wants TO application;
GRANT EXECUTE ON PROCEDURE rowlock_begin_lock TO application;
GRANT EXECUTE ON PROCEDURE rowlock_lock TO application;
GRANT EXECUTE ON PROCEDURE rowlock_holder TO application;
GRANT EXECUTE ON PROCEDURE rowlock_refuse TO application;
GRANT EXECUTE ON PROCEDURE rowlock_refuse_within TO application;
GRANT EXECUTE ON PROCEDURE rowlock_raise_interrupt TO application;
GRANT EXECUTE ON PROCEDURE rowlock_pause TO application;
GRANT EXECUTE ON PROCEDURE rowlock_begin_name TO application;
GRANT EXECUTE ON PROCEDURE rowlock_sweep_wants TO application;
GRANT EXECUTE ON PROCEDURE rowlock_lock_name TO application;
GRANT EXECUTE ON PROCEDURE rowlock_try_name TO application;
GRANT EXECUTE ON PROCEDURE rowlock_ensure TO application;
GRANT EXECUTE ON PROCEDURE rowlock_name_lock TO application;
GRANT EXECUTE ON PROCEDURE rowlock_may_try TO application;
GRANT EXECUTE ON PROCEDURE rowlock_remove TO application;
GRANT EXECUTE ON PROCEDURE rowlock_vacuum_row TO application;
GRANT EXECUTE ON PROCEDURE rowlock_vacuum_names TO application;

-- leases
GRANT EXECUTE ON PROCEDURE rowlock_check_ttl TO application;
GRANT EXECUTE ON PROCEDURE rowlock_pack_lease TO application;
GRANT EXECUTE ON PROCEDURE rowlock_try_grant TO application;
GRANT EXECUTE ON PROCEDURE rowlock_draw TO application;
GRANT EXECUTE ON PROCEDURE rowlock_require_no_transaction TO application;
GRANT EXECUTE ON PROCEDURE rowlock_set_idle_limit TO application;
GRANT EXECUTE ON PROCEDURE rowlock_restore_idle_limit TO application;
GRANT EXECUTE ON PROCEDURE rowlock_next_lease_want TO application;
GRANT EXECUTE ON PROCEDURE rowlock_find_conflict TO application;
GRANT EXECUTE ON PROCEDURE rowlock_find_conflicts TO application;
GRANT EXECUTE ON PROCEDURE rowlock_queue TO application;
GRANT EXECUTE ON PROCEDURE rowlock_sweep_leases TO application;
GRANT EXECUTE ON PROCEDURE rowlock_ensure_leases TO application;
GRANT EXECUTE ON PROCEDURE rowlock_name_lock_all TO application;
GRANT EXECUTE ON PROCEDURE rowlock_adopt_own TO application;
GRANT EXECUTE ON PROCEDURE rowlock_check_answer TO application;
GRANT EXECUTE ON PROCEDURE rowlock_decide_grant TO application;
GRANT EXECUTE ON PROCEDURE rowlock_insert_lease TO application;
GRANT EXECUTE ON PROCEDURE rowlock_grant_once TO application;
GRANT EXECUTE ON PROCEDURE rowlock_explain_busy TO application;
GRANT EXECUTE ON PROCEDURE rowlock_grant_answer TO application;
GRANT EXECUTE ON PROCEDURE rowlock_grant_wants TO application;
GRANT EXECUTE ON PROCEDURE rowlock_identify TO application;
GRANT EXECUTE ON PROCEDURE rowlock_extend TO application;
GRANT EXECUTE ON PROCEDURE rowlock_renew_lease TO application;
GRANT EXECUTE ON PROCEDURE rowlock_end TO application;
GRANT EXECUTE ON PROCEDURE rowlock_release_lease TO application;
GRANT EXECUTE ON PROCEDURE rowlock_check TO application;
GRANT EXECUTE ON PROCEDURE rowlock_break TO application;
GRANT EXECUTE ON PROCEDURE rowlock_lock_fence TO application;
GRANT EXECUTE ON PROCEDURE rowlock_fence_row TO application;
GRANT EXECUTE ON PROCEDURE rowlock_remove_dead_ticket TO application;
GRANT EXECUTE ON PROCEDURE rowlock_remove_dead TO application;
GRANT EXECUTE ON PROCEDURE rowlock_vacuum_queue TO application;
GRANT EXECUTE ON PROCEDURE rowlock_leave_queue TO application;
GRANT EXECUTE ON PROCEDURE rowlock_insert_waiter TO application;
GRANT EXECUTE ON PROCEDURE rowlock_enqueue TO application;
GRANT EXECUTE ON PROCEDURE rowlock_place TO application;
GRANT EXECUTE ON PROCEDURE rowlock_await TO application;
GRANT EXECUTE ON PROCEDURE rowlock_withdraw TO application;
GRANT EXECUTE ON PROCEDURE rowlock_call_roll TO application;
GRANT EXECUTE ON PROCEDURE rowlock_is_blocked TO application;
GRANT EXECUTE ON PROCEDURE rowlock_overtake TO application;
GRANT EXECUTE ON PROCEDURE rowlock_session_lock TO application;
GRANT EXECUTE ON PROCEDURE rowlock_session_unlock TO application;
GRANT EXECUTE ON PROCEDURE rowlock_session_unlock_lost TO application;
GRANT EXECUTE ON PROCEDURE rowlock_session TO application;
GRANT EXECUTE ON PROCEDURE rowlock_end_session TO application;
GRANT EXECUTE ON PROCEDURE rowlock_list TO application;
GRANT EXECUTE ON PROCEDURE rowlock_probe TO application;
GRANT EXECUTE ON PROCEDURE rowlock_grant TO application;

-- counters
GRANT EXECUTE ON PROCEDURE rowlock_advance TO application;
GRANT EXECUTE ON PROCEDURE rowlock_advance_row TO application;
GRANT EXECUTE ON PROCEDURE rowlock_next TO application;

-- jobs
GRANT EXECUTE ON PROCEDURE rowlock_clock TO application;
GRANT EXECUTE ON PROCEDURE rowlock_count_run TO application;
GRANT EXECUTE ON PROCEDURE rowlock_end_lost_run TO application;
GRANT EXECUTE ON PROCEDURE rowlock_end_expired TO application;
GRANT EXECUTE ON PROCEDURE rowlock_trim_runs TO application;
GRANT EXECUTE ON PROCEDURE rowlock_claim_job TO application;
GRANT EXECUTE ON PROCEDURE rowlock_plan_job TO application;
GRANT EXECUTE ON PROCEDURE rowlock_end_run TO application;
GRANT EXECUTE ON PROCEDURE rowlock_end_late TO application;
GRANT EXECUTE ON PROCEDURE rowlock_finish_job TO application;
GRANT EXECUTE ON PROCEDURE rowlock_forget_job TO application;
GRANT EXECUTE ON PROCEDURE rowlock_hasten_job TO application;
GRANT EXECUTE ON PROCEDURE rowlock_job_state TO application;
GRANT EXECUTE ON PROCEDURE rowlock_list_jobs TO application;
GRANT EXECUTE ON PROCEDURE rowlock_list_runs TO application;
-- subjects
GRANT EXECUTE ON PROCEDURE rowlock_subject_judge TO application;
GRANT EXECUTE ON PROCEDURE rowlock_subject_look TO application;
GRANT EXECUTE ON PROCEDURE rowlock_subject_begin TO application;
GRANT EXECUTE ON PROCEDURE rowlock_subject_done TO application;
GRANT EXECUTE ON PROCEDURE rowlock_subject_fail TO application;
GRANT EXECUTE ON PROCEDURE rowlock_subject_finish TO application;
GRANT EXECUTE ON PROCEDURE rowlock_subject_expire TO application;
GRANT EXECUTE ON PROCEDURE rowlock_subject_list TO application;

GRANT SELECT ON rowlock_meta TO application;
GRANT SELECT, INSERT, DELETE ON rowlock_name TO application;
GRANT SELECT, INSERT, DELETE ON rowlock_lease TO application;
GRANT SELECT, INSERT, UPDATE, DELETE ON rowlock_heartbeat TO application;
GRANT SELECT, INSERT, UPDATE, DELETE ON rowlock_waiter TO application;
GRANT SELECT, INSERT, UPDATE ON rowlock_counter TO application;
GRANT SELECT, INSERT, UPDATE, DELETE ON rowlock_job TO application;
GRANT SELECT, INSERT, UPDATE, DELETE ON rowlock_run TO application;
GRANT SELECT, INSERT, UPDATE ON rowlock_subject TO application;
GRANT SELECT, INSERT, UPDATE ON rowlock_expiry TO application;
GRANT SELECT, INSERT ON rowlock_token TO application;
GRANT SELECT ON rowlock_listed TO application;
GRANT SELECT ON rowlock_transactions TO application;
GRANT SELECT ON rowlock_holders TO application;
GRANT SELECT ON rowlock_waiters TO application;
GRANT SELECT ON rowlock_names TO application;
GRANT SELECT ON rowlock_jobs TO application;
GRANT SELECT ON rowlock_subjects TO application;

-- Only the history (rowlock log) needs these: locks hold without them.
GRANT EXECUTE ON PROCEDURE rowlock_log_end TO application;
GRANT EXECUTE ON PROCEDURE rowlock_log_waiter TO application;
GRANT EXECUTE ON PROCEDURE rowlock_list_history TO application;
GRANT EXECUTE ON PROCEDURE rowlock_prune TO application;
GRANT EXECUTE ON PROCEDURE rowlock_prune_row TO application;
GRANT SELECT, INSERT, DELETE ON rowlock_history TO application;

-- technique insert: its table
DELIMITER //
BEGIN NOT ATOMIC
    DECLARE v_object VARCHAR(200);
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;

    SELECT object INTO v_object FROM rowlock_meta WHERE technique = 'insert';
    IF v_object IS NOT NULL THEN
        EXECUTE IMMEDIATE CONCAT("GRANT SELECT, INSERT, DELETE ON ", v_object, " TO application");
    END IF;
END//
DELIMITER ;
