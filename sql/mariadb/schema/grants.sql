-- GRANTs on MariaDB: the minimum that the role or account application needs to lock. Run it in
-- rowlock's database, after the installation. The procedures run with the caller's rights, so the
-- account needs rights on the tables. An account that only locks needs no CREATE, ALTER or
-- DROP. PROCESS is optional and shows which session holds a row.
--
-- An account that only monitors, by SQL, needs the views and the tables under them, and no
-- EXECUTE. For an account monitoring:
--   GRANT SELECT ON rowlock_holders TO monitoring;
--   GRANT SELECT ON rowlock_waiters TO monitoring;
--   GRANT SELECT ON rowlock_names TO monitoring;
--   GRANT SELECT ON rowlock_jobs TO monitoring;
--   GRANT SELECT ON rowlock_subjects TO monitoring;
--   GRANT SELECT ON rowlock_transactions TO monitoring;
--   GRANT SELECT ON rowlock_held TO monitoring;
--   GRANT SELECT ON rowlock_alive TO monitoring;
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

GRANT EXECUTE ON PROCEDURE {procedure} TO application;

GRANT SELECT ON rowlock_meta TO application;
GRANT SELECT, INSERT, UPDATE, DELETE ON rowlock_name TO application;
GRANT SELECT, INSERT, UPDATE, DELETE ON rowlock_beneath TO application;
GRANT SELECT, INSERT, DELETE ON rowlock_prepared TO application;
GRANT SELECT, INSERT, DELETE ON rowlock_lease TO application;
GRANT SELECT, INSERT, UPDATE, DELETE ON rowlock_heartbeat TO application;
GRANT SELECT, INSERT, UPDATE, DELETE ON rowlock_waiter TO application;
GRANT SELECT, INSERT, UPDATE, DELETE ON rowlock_roll_caller TO application;
GRANT SELECT, INSERT, UPDATE ON rowlock_counter TO application;
GRANT SELECT, INSERT, UPDATE, DELETE ON rowlock_job TO application;
GRANT SELECT, INSERT, UPDATE, DELETE ON rowlock_run TO application;
GRANT SELECT, INSERT, UPDATE ON rowlock_subject TO application;
GRANT SELECT, INSERT, UPDATE ON rowlock_expiry TO application;
GRANT SELECT, INSERT ON rowlock_token TO application;
GRANT SELECT ON {view} TO application;

-- Only the history (rowlock log) needs these: locks hold without them.
GRANT EXECUTE ON PROCEDURE {history_procedure} TO application;
GRANT SELECT, INSERT, DELETE ON rowlock_history TO application;

-- technique insert: its table
{own_mode};

DELIMITER //
BEGIN NOT ATOMIC
    DECLARE v_object VARCHAR(200) CHARACTER SET utf8mb4;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;

    SELECT object INTO v_object FROM rowlock_meta WHERE technique = 'insert';
    IF v_object IS NOT NULL THEN
        -- double quotes, because an account has single ones; they are allowed in the mode above
        EXECUTE IMMEDIATE CONCAT("GRANT SELECT, INSERT, DELETE ON ", v_object, " TO application");
    END IF;
END//
DELIMITER ;

{former_mode};
