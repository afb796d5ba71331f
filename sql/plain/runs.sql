-- Reads the runs of a job.
SELECT token, job, node, pid, due, repeats, started, taken_until, finished, outcome, {exit},
       {output}, {now} AS now_ms
  FROM rowlock_run WHERE job = ?t;
