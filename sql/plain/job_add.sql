-- Creates a job. A duplicate key: another node was faster.
INSERT INTO rowlock_job (name, version, schedule, due, {last_due}, repeats, failed, running,
       runs_done, runs_failed, runs_timed_out, runs_broken, runs_lost, runs_late, runs_not_started,
       last_success)
VALUES (?t, 0, ?t, ?i, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
