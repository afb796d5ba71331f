-- rowlock's tables on SQLite, schema version 1. The file has one write lock, and that is T, the
-- transaction lock of every name; the tables carry what outlives a transaction.
-- Instants are milliseconds since 1970 UTC.

CREATE TABLE IF NOT EXISTS rowlock_meta (
    only_one  INTEGER NOT NULL DEFAULT 1 PRIMARY KEY CHECK (only_one = 1),
    version   INTEGER NOT NULL,
    technique TEXT    NOT NULL,             -- how a name is locked: 'native' or 'insert'
    object    TEXT,                         -- technique insert: the table of the two statements
    id_width  INTEGER,                      -- technique insert: characters its id column takes
    owned     INTEGER NOT NULL DEFAULT 0    -- 1: that table was created by us
);

-- Who holds a lease, and what it says of itself; never updated.
CREATE TABLE IF NOT EXISTS rowlock_lease (
    token    INTEGER NOT NULL,
    name     TEXT    NOT NULL,
    n        INTEGER NOT NULL DEFAULT 0,    -- permits: one row each
    mode     TEXT    NOT NULL CHECK (mode IN ('exclusive', 'shared', 'permit')),
    "limit"  INTEGER,
    owner    TEXT    NOT NULL,
    host     TEXT    NOT NULL,
    pid      INTEGER,                       -- NULL: no process keeps it
    command  TEXT,
    note     TEXT,
    acquired INTEGER NOT NULL,
    PRIMARY KEY (token, name, n)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS rowlock_lease_name ON rowlock_lease (name);

-- Until when it lives; renewal touches this table only.
CREATE TABLE IF NOT EXISTS rowlock_beat (
    token   INTEGER PRIMARY KEY,
    expires INTEGER NOT NULL,
    stop    INTEGER NOT NULL DEFAULT 0
);
