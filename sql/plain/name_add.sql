-- Creates the row of a name, in a transaction of its own. A duplicate key means that it exists.
INSERT INTO rowlock_name (name, n) VALUES (?t, 0);
