-- Lists the jobs that are not fine, the worst first, with the columns of job_list. Each row ends
-- with the number of jobs, and of those that are paused, slow, late, failing and lost. If none is
-- listed, one row has these numbers alone. Parameters: LIKE pattern (escape !) of the name or of
-- job:NAME; number of rows (0: all); ms after its due time when a job is late; ms after which a run
-- is slow, if it also exceeds the average by the last parameter, a factor. The rules are those of
-- src/job/trouble.c; the values of health are enum rowlock_health.
WITH named AS (
    SELECT job.*, {now_ms} AS now_ms, asked.most, asked.late_ms, asked.least_ms, asked.times
      FROM {the}job AS job CROSS JOIN ({job_choice}) AS asked
     WHERE {job_chosen}),
{job_placed},
suspect AS ( -- all others are fine: no run has begun since one that is done
    SELECT placed.*, run.token IS NOT NULL AND beat.token IS NOT NULL AS runs,
           {run_shown} AS shown,
           CASE WHEN run.token IS NULL THEN {word ended.outcome}
                WHEN run.outcome = 'running' THEN 'lost' ELSE {word run.outcome} END AS outcome,
           CASE WHEN run.token IS NULL THEN ended.started ELSE run.started END AS started
      FROM placed
      LEFT JOIN {run_under_way placed} AS run ON run.token = placed.running
      LEFT JOIN {beat_of placed.running} AS beat
        ON beat.token = placed.running AND beat.expires > {now}
      LEFT JOIN {run_before placed} AS ended ON ended.token = placed.former
     WHERE placed.pause IS NOT NULL OR placed.running <> 0
        OR placed.due < placed.now_ms - placed.late_ms OR ended.outcome <> 'done'),
looked AS (
    SELECT suspect.*,
           {job_past suspect}),
limited AS (
    SELECT looked.*, {greatest}(looked.times * looked.average_ms, looked.least_ms) AS most_ms
      FROM looked),
judged AS (
    SELECT limited.*,
           CASE WHEN pause IS NOT NULL THEN 1
                WHEN NOT runs AND outcome IN ('lost', 'late') THEN 5
                WHEN since IS NOT NULL THEN 4
                WHEN NOT runs AND due < now_ms - late_ms THEN 3
                WHEN runs AND done > 0 AND now_ms - started > most_ms THEN 2
                ELSE 0 END AS health
      FROM limited),
ranked AS (
    SELECT judged.*, {core}row_number() OVER (
               ORDER BY health DESC,
                        CASE health WHEN 1 THEN pause WHEN 2 THEN started + most_ms WHEN 3 THEN due
                                    WHEN 4 THEN since ELSE started END, name) AS number,
           {core}sum(CASE health WHEN 1 THEN 1 ELSE 0 END) OVER () AS paused,
           {core}sum(CASE health WHEN 2 THEN 1 ELSE 0 END) OVER () AS slow,
           {core}sum(CASE health WHEN 3 THEN 1 ELSE 0 END) OVER () AS late,
           {core}sum(CASE health WHEN 4 THEN 1 ELSE 0 END) OVER () AS failing,
           {core}sum(CASE health WHEN 5 THEN 1 ELSE 0 END) OVER () AS lost
      FROM judged WHERE health > 0)
SELECT {job_columns},
       total.jobs, job.paused, job.slow, job.late, job.failing, job.lost
  FROM (SELECT {core}count(*) AS jobs FROM named) AS total
  LEFT JOIN ranked AS job ON job.most = 0 OR job.number <= job.most
{job_joined}
 ORDER BY job.number;
