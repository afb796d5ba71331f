-- Releases the install lock.
SELECT RELEASE_LOCK(CONCAT('rowlock:', LEFT(SHA2(DATABASE(), 256), 32)));
