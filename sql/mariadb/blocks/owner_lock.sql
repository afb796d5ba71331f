-- owner_lock
-- The session lock of the owner %. The first call of a request has it until its grant or its ticket
-- is committed; the owner's other calls, and a cancel, wait for it. So it outlives a transaction,
-- as the lock of lock_owner does not. A KILL QUERY may leave it to the session.
DECLARE v_lock VARCHAR(64) CHARACTER SET utf8mb4
    DEFAULT CONCAT('rowlock:', MD5(DATABASE()), ':owner', LEFT(SHA2(%, 256), 16));
