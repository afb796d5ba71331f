-- Creates a subject. A duplicate key: another session was faster.
INSERT INTO rowlock_subject (name, version, status, token) VALUES (?t, 0, 'NONE', 0);
