-- Sets the time at which a lease expires.
UPDATE rowlock_heartbeat SET expires = ?i WHERE token = ?i;
