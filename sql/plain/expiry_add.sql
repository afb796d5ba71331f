INSERT INTO rowlock_expiry (name, expired) VALUES (?t, ?i);
