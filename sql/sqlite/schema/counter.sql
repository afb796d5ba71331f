-- Counters: numbers without gaps. A number is drawn under the file's write lock; ROLLBACK returns
-- it.
CREATE TABLE IF NOT EXISTS rowlock_counter (
    name TEXT    NOT NULL PRIMARY KEY,
    last INTEGER NOT NULL
) WITHOUT ROWID;

