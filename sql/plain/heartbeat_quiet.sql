-- Deletes a heartbeat whose lease leaves no row in the history.
DELETE FROM rowlock_heartbeat
 WHERE token = ?i AND quiet_until > {now} AND expires > {now} AND stop = 0;
