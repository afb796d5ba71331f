-- Inserts a ticket into the queue of one name.
-- ?1 ticket, ?2 name, ?3 mode, ?4 limit or NULL, ?5 count, ?6 owner, ?7 host, ?8 pid, ?9 command,
-- ?10 note, ?11 good_ms
INSERT INTO rowlock_waiter
    (ticket, name, mode, "limit", count, owner, host, pid, command, note, since, alive_until)
WITH clock AS (
    SELECT CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER) AS now)
SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, now, now + ?11 FROM clock;
