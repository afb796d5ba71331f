-- Inserts the heartbeat of a new lease. A release before quiet_until leaves no row in the history.
INSERT INTO rowlock_heartbeat (token, expires, stop, quiet_until)
VALUES (?i, {now} + ?i, 0, {now} + ?i);
