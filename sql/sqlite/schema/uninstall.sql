-- Removes rowlock's own views and tables. drop_object.sql drops the table of technique insert, if
-- rowlock created it.

DROP VIEW IF EXISTS rowlock_acquire;
DROP VIEW IF EXISTS rowlock_fence;
DROP VIEW IF EXISTS rowlock_shared;
DROP VIEW IF EXISTS rowlock_exclusive;
DROP VIEW IF EXISTS rowlock_lock;
DROP VIEW IF EXISTS rowlock_leftover;
DROP VIEW IF EXISTS rowlock_subjects;
DROP VIEW IF EXISTS rowlock_jobs;
DROP VIEW IF EXISTS rowlock_names;
DROP VIEW IF EXISTS rowlock_waiters;
DROP VIEW IF EXISTS rowlock_holders;
DROP VIEW IF EXISTS rowlock_clock;
DROP VIEW IF EXISTS rowlock_expired;
DROP TABLE IF EXISTS rowlock_run;
DROP TABLE IF EXISTS rowlock_job;
DROP TABLE IF EXISTS rowlock_expiry;
DROP TABLE IF EXISTS rowlock_subject;
DROP TABLE IF EXISTS rowlock_counter;
DROP TABLE IF EXISTS rowlock_waiter;
DROP TABLE IF EXISTS rowlock_number;
DROP TABLE IF EXISTS rowlock_history;
DROP TABLE IF EXISTS rowlock_lease;
DROP TABLE IF EXISTS rowlock_heartbeat;
DROP TABLE IF EXISTS rowlock_meta;
