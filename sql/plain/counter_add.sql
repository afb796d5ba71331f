-- Creates a counter, under the lock of counter:NAME.
INSERT INTO rowlock_counter (name, {drawn}) VALUES (?t, ?i);
