-- Lets the next installer in.
SELECT RELEASE_LOCK(CONCAT('rowlock:', MD5(DATABASE())));
