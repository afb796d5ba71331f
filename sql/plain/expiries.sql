-- Reads the expiry of every subject: as expiry.sql.
SELECT name, expired FROM rowlock_expiry;
