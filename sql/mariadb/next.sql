-- Draws numbers of a counter; requires the lock of counter:NAME: name, start, count -> the first
-- one.
CALL rowlock_advance_row(?, ?, ?);
