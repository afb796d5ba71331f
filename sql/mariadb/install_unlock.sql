-- Releases the install lock.
SELECT RELEASE_LOCK(CONCAT('rowlock:', MD5(DATABASE())));
