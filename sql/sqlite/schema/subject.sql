-- Subjects: what is made anew once, when it is stale, while all who use it wait. Who makes it holds the lock
-- subject:NAME exclusively, in a transaction or as a lease; who uses it, shared. The row tells what became
-- of it, to people and to who comes next. Instants are milliseconds since 1970 UTC.
CREATE TABLE IF NOT EXISTS rowlock_subject (
    name        TEXT    NOT NULL PRIMARY KEY,
    version     INTEGER NOT NULL DEFAULT 0, -- another with each refresh that began
    status      TEXT    NOT NULL DEFAULT 'NONE'
                CHECK (status IN ('NONE', 'PROCESSING', 'COMPLETE', 'ERROR')),
    description TEXT,
    began       INTEGER,                    -- of the last refresh,
    ended       INTEGER,
    basis       INTEGER,                    -- and of the one that made what is there
    updated     INTEGER,
    host        TEXT,
    pid         INTEGER,
    program     TEXT,
    token       INTEGER NOT NULL DEFAULT 0, -- of its lease; 0: it is done in a transaction
    error       TEXT,
    exit        INTEGER                     -- 128 + N: ended by signal N
) WITHOUT ROWID;

-- What was made by a refresh that began no later counts as stale.
CREATE TABLE IF NOT EXISTS rowlock_expiry (
    name    TEXT    NOT NULL PRIMARY KEY,
    expired INTEGER NOT NULL
) WITHOUT ROWID;
