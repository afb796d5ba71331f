-- Jobs: commands that exactly one node of a farm runs when they are due. The nodes know schedules
-- and commands; the database records only due times and runs. A job is claimed together with the
-- lease of job:NAME, in one transaction (dialect.h, job_claim). Times are milliseconds since 1970
-- UTC; 9223372036854775807: never.
CREATE TABLE IF NOT EXISTS rowlock_job (
    name     TEXT    NOT NULL PRIMARY KEY,
    version  INTEGER NOT NULL,              -- increases with every change
    schedule TEXT    NOT NULL,              -- as configured on the node that changed the row
    due      INTEGER NOT NULL,              -- the next due time that no node has claimed
    last     INTEGER NOT NULL DEFAULT 0,    -- the due time that was claimed last
    repeats  INTEGER NOT NULL DEFAULT 0,    -- the retry number of its run
    failed   INTEGER NOT NULL DEFAULT 0,    -- when its run failed or did not start; 0: neither
    running  INTEGER NOT NULL DEFAULT 0,    -- the token of its run; 0: it has ended. A run that was
                                            -- lost or not started stays until the next claim
    -- the number of ended runs by outcome, including those that the history has no longer
    runs_done INTEGER NOT NULL DEFAULT 0,
    runs_failed INTEGER NOT NULL DEFAULT 0,
    runs_timed_out INTEGER NOT NULL DEFAULT 0,
    runs_broken INTEGER NOT NULL DEFAULT 0,
    runs_lost INTEGER NOT NULL DEFAULT 0,
    runs_late INTEGER NOT NULL DEFAULT 0,
    runs_not_started INTEGER NOT NULL DEFAULT 0,
    last_success INTEGER NOT NULL DEFAULT 0 -- when the latest run that is done ended; 0: never
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS rowlock_run (
    token       INTEGER PRIMARY KEY,        -- of its lease
    job         TEXT    NOT NULL,
    node        TEXT    NOT NULL,
    pid         INTEGER NOT NULL,
    due         INTEGER NOT NULL,           -- the due time of the run
    repeats     INTEGER NOT NULL,
    started     INTEGER NOT NULL,
    taken_until INTEGER NOT NULL,           -- minimum hold: the name stays taken until then
    finished    INTEGER NOT NULL DEFAULT 0,
    outcome     TEXT    NOT NULL DEFAULT 'running'
        CHECK (outcome IN ('running', 'done', 'failed', 'timed out', 'broken', 'lost', 'late',
                           'not started')),
    exit        INTEGER NOT NULL DEFAULT 0, -- 128 + N: terminated by signal N
    output      TEXT
);
-- The columns after the token are for the list of jobs, which reads all runs of each job.
CREATE INDEX IF NOT EXISTS rowlock_run_job ON rowlock_run (job, token, outcome, started, finished);

-- Builds before 0.1.0 counted the runs by this trigger; now the finish and the claim count them.
DROP TRIGGER IF EXISTS rowlock_run_count;
