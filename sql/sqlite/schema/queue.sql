-- The queue for leases. A ticket has a row for each of its names, and is granted when it is first
-- for all of them. The file does not show whether a waiter lives, so each waiter records it in
-- alive_until.
CREATE TABLE IF NOT EXISTS rowlock_waiter (
    ticket  INTEGER NOT NULL,
    name    TEXT    NOT NULL,
    mode    TEXT    NOT NULL CHECK (mode = 'exclusive' OR mode IN ('shared', 'permit')),
    -- permits: how many the name has, and how many are wanted
    "limit" INTEGER,
    count   INTEGER NOT NULL DEFAULT 1,
    owner   TEXT    NOT NULL,
    host    TEXT    NOT NULL,
    pid     INTEGER NOT NULL,
    command TEXT,
    note    TEXT,
    since   INTEGER NOT NULL,
    -- after this time any session may delete the row
    alive_until INTEGER NOT NULL,
    roll_call INTEGER,                      -- the roll call that the waiter has not answered
    PRIMARY KEY (ticket, name)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS rowlock_waiter_name ON rowlock_waiter (name);

-- The last token or ticket that was drawn. The next one is greater, and at least the microseconds
-- since 1970: so it is greater than every earlier one, even after an older copy of the file was
-- restored.
CREATE TABLE IF NOT EXISTS rowlock_number (
    only_one INTEGER NOT NULL DEFAULT 1 PRIMARY KEY CHECK (only_one = 1),
    last     INTEGER NOT NULL,
    -- which ended leases the history keeps, and for how many milliseconds: keep_good for released
    -- leases, keep_bad for all others; here, because each grant reads this row
    history   INTEGER NOT NULL DEFAULT 2,   -- 0 off, 1 problems, 2 slow, 3 all
    keep_good INTEGER NOT NULL DEFAULT 86400000,
    keep_bad  INTEGER NOT NULL DEFAULT 604800000
);
INSERT OR IGNORE INTO rowlock_number (last) VALUES (0);
