-- Changes the version of a job: a node that decided before this must decide again.
UPDATE rowlock_job SET version = version + 1 WHERE name = ?t AND running = ?i;
