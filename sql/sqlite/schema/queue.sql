-- Who waits for a lease: a ticket stands in the queue of each of its names, and is granted when it is
-- the first of all of them. Nobody can see from the file whether a waiter lives, so it says so itself.
CREATE TABLE IF NOT EXISTS rowlock_waiter (
    ticket  INTEGER NOT NULL,
    name    TEXT    NOT NULL,
    mode    TEXT    NOT NULL CHECK (mode IN ('exclusive', 'shared', 'permit')),
    "limit" INTEGER,                        -- permits: how many there are, and how many are wanted
    count   INTEGER NOT NULL DEFAULT 1,
    owner   TEXT    NOT NULL,
    host    TEXT    NOT NULL,
    pid     INTEGER NOT NULL,
    command TEXT,
    note    TEXT,
    since   INTEGER NOT NULL,
    seen    INTEGER NOT NULL,               -- alive until then; after that anybody may delete it
    called  INTEGER,                        -- the roll call that the waiter has not answered
    PRIMARY KEY (ticket, name)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS rowlock_waiter_name ON rowlock_waiter (name);

-- The last token or ticket that was drawn. The next is greater, and at least the microseconds since
-- 1970: so it is greater than all before, also after an older copy of the file was put in place.
CREATE TABLE IF NOT EXISTS rowlock_number (
    only_one INTEGER NOT NULL DEFAULT 1 PRIMARY KEY CHECK (only_one = 1),
    last     INTEGER NOT NULL
);
INSERT OR IGNORE INTO rowlock_number (last) VALUES (0);
