-- Breaks leases: name, token, now -> how many.
CALL rowlock_break(?, ?, ?);
