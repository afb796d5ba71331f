-- Creates a counter, under the lock of counter:NAME.
INSERT INTO rowlock_counter (name, last, began)
SELECT name, last, last FROM (SELECT ?t AS name, ?i AS last);
