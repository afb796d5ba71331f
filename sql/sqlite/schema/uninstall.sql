-- Removes rowlock's own tables. A table of technique insert that was there before stays; one that we
-- created is dropped by drop_object.sql.

DROP TABLE IF EXISTS rowlock_run;
DROP TABLE IF EXISTS rowlock_job;
DROP TABLE IF EXISTS rowlock_expiry;
DROP TABLE IF EXISTS rowlock_subject;
DROP TABLE IF EXISTS rowlock_counter;
DROP TABLE IF EXISTS rowlock_waiter;
DROP TABLE IF EXISTS rowlock_number;
DROP TABLE IF EXISTS rowlock_lease;
DROP TABLE IF EXISTS rowlock_beat;
DROP TABLE IF EXISTS rowlock_meta;
