SELECT name, expired FROM rowlock_expiry;
