-- Inserts the heartbeat of a new lease.
INSERT INTO rowlock_heartbeat (token, expires, stop) VALUES (?i, {now} + ?i, 0);
