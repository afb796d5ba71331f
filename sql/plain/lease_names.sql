SELECT name, owner FROM rowlock_lease WHERE token = ?i;
