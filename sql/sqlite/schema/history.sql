-- Leases that ended and waiters that gave up (rowlock log). Runs of jobs are in rowlock_run.
CREATE TABLE IF NOT EXISTS rowlock_history (
    name     TEXT    NOT NULL,
    mode     TEXT    NOT NULL,
    permits  INTEGER NOT NULL,
    token    INTEGER,                       -- NULL: a waiter that gave up
    host     TEXT,
    pid      INTEGER,
    command  TEXT,
    note     TEXT,
    acquired INTEGER,                       -- NULL: never
    waited   INTEGER NOT NULL,              -- milliseconds
    ended    INTEGER NOT NULL,
    how      TEXT    NOT NULL,              -- released, expired, revoked, gave up
    problem  INTEGER NOT NULL               -- 0: released
);
CREATE INDEX IF NOT EXISTS rowlock_history_ended ON rowlock_history (ended);
