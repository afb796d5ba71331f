-- Makes the refreshes of a subject that have begun so far stale, if none was made stale before.
INSERT INTO rowlock_expiry (name, expired) VALUES (?t, ?i);
