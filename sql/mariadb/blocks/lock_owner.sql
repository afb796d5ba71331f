-- Locks the owner % until the transaction ends, and waits at most v_seconds: by a key among the
-- heartbeats, below all tokens. REPLACE, because a KILL QUERY may have left the key of an earlier
-- call.
SET v_key = -1 - CAST(CONV(LEFT(SHA2(%, 256), 15), 16, 10) AS SIGNED);
SET STATEMENT innodb_lock_wait_timeout = v_seconds FOR
    REPLACE INTO rowlock_heartbeat (token, expires) VALUES (v_key, '1970-01-01');
DELETE FROM rowlock_heartbeat WHERE token = v_key;
