-- Counters: numbers without a gap, because the number is drawn under the file's write lock, and goes back
-- with ROLLBACK.
CREATE TABLE IF NOT EXISTS rowlock_counter (
    name TEXT    NOT NULL PRIMARY KEY,
    last INTEGER NOT NULL
) WITHOUT ROWID;

