-- Inserts the expiry of a subject that has none.
INSERT INTO rowlock_expiry (name, expired) VALUES (?t, ?i);
