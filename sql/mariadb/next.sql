-- Under the lock of counter:NAME: name, start, count -> the first of so many numbers.
CALL rowlock_advance_row(?, ?, ?);
