-- Creates a ticket: wants, owner, session, good_ms, host, pid, command, note -> grant row.
CALL rowlock_enqueue(?, ?, ?, ?, ?, ?, ?, ?);
