-- Draws `count` numbers of a counter, and returns the first, for the row % with name, start, count.
INSERT INTO rowlock.counter AS c (name, last)
SELECT %.name, %.start + %."count" - 1 FROM %
    ON CONFLICT ON CONSTRAINT counter_pkey DO UPDATE
   SET last = c.last + (SELECT a."count" FROM % a)
RETURNING c.last - (SELECT a."count" FROM % a) + 1
