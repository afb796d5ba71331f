-- Extends a lease; never shortens or restores one.
UPDATE rowlock_heartbeat
   SET expires = CASE WHEN expires < {now} + ?i THEN {now} + ?i ELSE expires END
 WHERE token = ?i AND stop = 0;
