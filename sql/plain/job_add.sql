-- Creates a job. A duplicate key: another node was faster.
INSERT INTO rowlock_job ({job_row})
VALUES (?t, 0, ?t, ?i, {job_zeros});
