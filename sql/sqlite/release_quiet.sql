-- Deletes the heartbeat of a lease that leaves no row in the history, if the lease has that name
-- and that owner (NULL: any).
DELETE FROM rowlock_heartbeat
 WHERE token = ?i AND min(quiet_until, expires) > {now} AND stop = 0
   AND EXISTS (SELECT 1 FROM rowlock_lease
                WHERE token = ?i AND name = ?t AND owner = coalesce(?t, owner));
