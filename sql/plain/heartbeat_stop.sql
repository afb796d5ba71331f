-- Breaks a lease: it gets no further renewal.
UPDATE rowlock_heartbeat SET stop = 1 WHERE token = ?i;
