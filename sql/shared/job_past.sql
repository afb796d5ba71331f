-- The end of a SELECT from the table %, whose rows are jobs: how many of their runs are done, how
-- long these took on average, and when the first failure since the latest of these began.
(SELECT {core}count(*) FROM {the}run AS done
             WHERE done.job = %.name AND done.outcome = 'done') AS done,
           (SELECT {average done.finished - done.started} FROM {the}run AS done
             WHERE done.job = %.name AND done.outcome = 'done') AS average_ms,
           (SELECT {core}min(failed.started) FROM {the}run AS failed
             WHERE failed.job = %.name AND failed.outcome IN ({run_failures})
               AND failed.token > coalesce((SELECT {core}max(done.token) FROM {the}run AS done
                                             WHERE done.job = %.name
                                               AND done.outcome = 'done'), 0)) AS since
      FROM %
