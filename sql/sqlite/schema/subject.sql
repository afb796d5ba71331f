-- Subjects: data that is refreshed exactly once when it is stale, while all its users wait. A
-- refresh holds the lock subject:NAME exclusively, in a transaction or as a lease; users hold it
-- shared. The row shows the state of the refresh to people and to the next caller. Times are
-- milliseconds since 1970 UTC.
CREATE TABLE IF NOT EXISTS rowlock_subject (
    name        TEXT    NOT NULL PRIMARY KEY,
    version     INTEGER NOT NULL DEFAULT 0, -- increases with each refresh that begins
    status      TEXT    NOT NULL DEFAULT 'NONE'
                CHECK (status IN ('NONE', 'PROCESSING', 'COMPLETE', 'ERROR')),
    description TEXT,
    began       INTEGER,                    -- when the last refresh began
    ended       INTEGER,
    basis       INTEGER,                    -- start of the refresh that made the present data
    updated     INTEGER,
    host        TEXT,
    pid         INTEGER,
    program     TEXT,
    token       INTEGER NOT NULL DEFAULT 0, -- of its lease; 0: it runs in a transaction
    error       TEXT,
    exit        INTEGER                     -- 128 + N: terminated by signal N
) WITHOUT ROWID;

-- Data of a refresh that began no later than this counts as stale.
CREATE TABLE IF NOT EXISTS rowlock_expiry (
    name    TEXT    NOT NULL PRIMARY KEY,
    expired INTEGER NOT NULL
) WITHOUT ROWID;
