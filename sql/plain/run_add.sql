INSERT INTO rowlock_run
       (token, job, node, pid, due, repeats, started, taken_until, finished, outcome, {exit})
VALUES (?i, ?t, ?t, ?i, ?i, ?i, {now}, {now} + ?i, 0, 'running', 0);
