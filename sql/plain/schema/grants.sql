-- The privileges of an account that locks, runs jobs and refreshes, but does not install.

GRANT SELECT ON rowlock_meta TO application;
GRANT SELECT, INSERT, UPDATE, DELETE ON rowlock_name TO application;
GRANT SELECT, INSERT, UPDATE, DELETE ON rowlock_lease TO application;
GRANT SELECT, INSERT, UPDATE, DELETE ON rowlock_heartbeat TO application;
GRANT SELECT, INSERT, UPDATE, DELETE ON rowlock_waiter TO application;
GRANT SELECT, INSERT, UPDATE, DELETE ON rowlock_number TO application;
GRANT SELECT, INSERT, DELETE ON rowlock_history TO application;
GRANT SELECT, INSERT, UPDATE, DELETE ON rowlock_counter TO application;
GRANT SELECT, INSERT, UPDATE, DELETE ON rowlock_job TO application;
GRANT SELECT, INSERT, UPDATE, DELETE ON rowlock_run TO application;
GRANT SELECT, INSERT, UPDATE, DELETE ON rowlock_subject TO application;
GRANT SELECT, INSERT, UPDATE, DELETE ON rowlock_expiry TO application;
{grants}
