UPDATE rowlock_heartbeat SET expires = ?i WHERE token = ?i;
