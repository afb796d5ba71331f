-- Jobs: what exactly one node of a farm does when it is due. The nodes know the schedules and the commands;
-- here is only what has become of them. A job is claimed with the lease of job:NAME, in one transaction
-- (dialect.h, job_claim). Instants are milliseconds since 1970 UTC; 9223372036854775807: never.
CREATE TABLE IF NOT EXISTS rowlock_job (
    name     TEXT    NOT NULL PRIMARY KEY,
    version  INTEGER NOT NULL,              -- another with every change
    schedule TEXT    NOT NULL,              -- as the node that changed the row was told it
    due      INTEGER NOT NULL,              -- the next instant that nobody has claimed
    last     INTEGER NOT NULL DEFAULT 0,    -- the one that was claimed last,
    repeats  INTEGER NOT NULL DEFAULT 0,    -- how often it was repeated,
    failed   INTEGER NOT NULL DEFAULT 0,    -- when its run failed, or was found not to start; 0: neither
    running  INTEGER NOT NULL DEFAULT 0     -- the token of its run, also of one that was lost or not started,
                                            -- until the next claim settles it; 0: it has ended
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS rowlock_run (
    token       INTEGER PRIMARY KEY,        -- of its lease
    job         TEXT    NOT NULL,
    node        TEXT    NOT NULL,
    pid         INTEGER NOT NULL,
    due         INTEGER NOT NULL,           -- the instant it is for
    repeats     INTEGER NOT NULL,
    started     INTEGER NOT NULL,
    taken_until INTEGER NOT NULL,           -- the name stays taken until then, though it ends before
    finished    INTEGER NOT NULL DEFAULT 0,
    outcome     TEXT    NOT NULL DEFAULT 'running'
        CHECK (outcome IN ('running', 'done', 'failed', 'timed out', 'broken', 'lost', 'late', 'not started')),
    exit        INTEGER NOT NULL DEFAULT 0, -- 128 + N: ended by signal N
    output      TEXT
);
CREATE INDEX IF NOT EXISTS rowlock_run_job ON rowlock_run (job, token);
