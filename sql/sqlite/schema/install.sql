-- rowlock's tables on SQLite, schema version {schema_version}. The file has one write lock, which
-- serves as the lock of every name until a transaction ends. The tables hold the locks that outlive
-- a transaction, the leases, and the queue for them. Times are milliseconds since 1970 UTC.

CREATE TABLE IF NOT EXISTS rowlock_meta (
    only_one  INTEGER NOT NULL DEFAULT 1 PRIMARY KEY CHECK (only_one = 1),
    version   INTEGER NOT NULL,
    technique TEXT    NOT NULL,             -- how a name is locked: 'native' or 'insert'
    object    TEXT,                         -- technique insert: the table of the two statements
    id_width  INTEGER,                      -- technique insert: characters its id column takes
    owned     INTEGER NOT NULL DEFAULT 0    -- 1: rowlock created that table
);

-- Leases, with what their holders state about themselves; never updated.
CREATE TABLE IF NOT EXISTS rowlock_lease (
    token    INTEGER NOT NULL,
    name     TEXT    NOT NULL,
    n        INTEGER NOT NULL DEFAULT 0,    -- one row per permit
    -- for a list of three values SQLite would build a temporary index at each INSERT
    mode     TEXT    NOT NULL CHECK (mode = 'exclusive' OR mode IN ('shared', 'permit')),
    "limit"  INTEGER,
    owner    TEXT    NOT NULL,
    host     TEXT    NOT NULL,
    pid      INTEGER,                       -- NULL: no process renews it
    command  TEXT,
    note     TEXT,
    acquired INTEGER NOT NULL,
    waited   INTEGER NOT NULL DEFAULT 0,    -- in the queue, in milliseconds
    PRIMARY KEY (token, name, n)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS rowlock_lease_name ON rowlock_lease (name);

-- Expiry of leases; a renewal updates this table only.
CREATE TABLE IF NOT EXISTS rowlock_heartbeat (
    token   INTEGER PRIMARY KEY,
    expires INTEGER NOT NULL,
    stop    INTEGER NOT NULL DEFAULT 0,
    -- a release before this time leaves no row in the history
    quiet_until INTEGER NOT NULL DEFAULT 9223372036854775807
);
