-- Lets a lease expire at a given time.
UPDATE rowlock_heartbeat SET expires = ?i WHERE token = ?i;
