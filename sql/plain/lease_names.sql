-- Reads the names and the owner of a lease.
SELECT name, owner FROM rowlock_lease WHERE token = ?i;
