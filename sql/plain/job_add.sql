-- Creates a job. A duplicate key: another node was faster.
INSERT INTO rowlock_job (name, version, schedule, due, {last_due}, repeats, failed, running)
VALUES (?t, 0, ?t, ?i, 0, 0, 0, 0);
