-- Locks a heartbeat, so that no session ends or renews the lease meanwhile.
UPDATE rowlock_heartbeat SET stop = stop WHERE token = ?i;
