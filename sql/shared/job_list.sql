-- Lists one job, or all (NULL): due time, current run, last result, pause.
WITH named AS (
    SELECT job.*, {now_ms} AS now_ms FROM {the}job AS job WHERE {job_asked}),
{job_placed},
looked AS (
    SELECT placed.*,
           (SELECT {run_shown} FROM {the}run AS run
              LEFT JOIN {beat_of run.token} AS beat
                ON beat.token = run.token AND beat.expires > {now}
             WHERE run.job = placed.name AND run.token = placed.running) AS shown,
           {job_past placed})
SELECT {job_columns}
  FROM looked AS job
{job_joined}
 ORDER BY job.name;
