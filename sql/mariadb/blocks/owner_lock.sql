-- owner_lock
-- The session lock of the owner %. The first call of a request has it until its grant or its ticket
-- is committed; the owner's other calls, and a cancel, wait for it. Unlike the row lock of
-- lock_owner it outlives a COMMIT. A KILL QUERY may leave it to the session: every wait is short.
DECLARE v_lock VARCHAR(64) CHARACTER SET utf8mb4
    DEFAULT CONCAT('rowlock:', MD5(DATABASE()), ':owner', LEFT(SHA2(%, 256), 16));
