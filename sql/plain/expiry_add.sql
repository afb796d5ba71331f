-- Makes the refreshes of a subject that have begun so far stale, for the first time.
INSERT INTO rowlock_expiry (name, expired) VALUES (?t, ?i);
