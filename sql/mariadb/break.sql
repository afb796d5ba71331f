-- Breaks leases: name, token, now -> number of leases.
CALL rowlock_break(?, ?, ?);
