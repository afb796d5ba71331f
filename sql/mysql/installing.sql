-- Whether a session installs or upgrades now. MySQL replaces a procedure by DROP and CREATE: a call
-- between the two fails, and is repeated.
SELECT IS_USED_LOCK(CONCAT('rowlock:', LEFT(SHA2(DATABASE(), 256), 32))) IS NOT NULL;
