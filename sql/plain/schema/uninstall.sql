-- Removes rowlock's tables.

DROP TABLE rowlock_meta;
DROP TABLE rowlock_run;
DROP TABLE rowlock_job;
DROP TABLE rowlock_expiry;
DROP TABLE rowlock_subject;
DROP TABLE rowlock_counter;
DROP TABLE rowlock_waiter;
DROP TABLE rowlock_number;
DROP TABLE rowlock_history;
DROP TABLE rowlock_heartbeat;
DROP TABLE rowlock_lease;
DROP TABLE rowlock_name;
{farewell}
