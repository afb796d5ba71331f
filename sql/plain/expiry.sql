-- Reads the expiry of a subject: the data of a refresh that began at that time or before is stale.
SELECT expired FROM rowlock_expiry WHERE name = ?t;
