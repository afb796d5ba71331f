-- SPDX-License-Identifier: Apache-2.0
-- Counters: numbers without a gap, because the number is drawn under a lock that lasts until COMMIT, and
-- goes back with ROLLBACK. A sequence does neither. The lock is that of the name counter:NAME.

CREATE TABLE rowlock.counter (
    name text COLLATE "C" PRIMARY KEY,
    last bigint NOT NULL
);

-- The first of `count` numbers; `start` is the first of all, where the counter is new. Called under the
-- lock.
CREATE FUNCTION rowlock.advance(name text, start bigint, "count" bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    first bigint;
BEGIN
    INSERT INTO rowlock.counter AS c (name, last) VALUES (advance.name, advance.start + advance."count" - 1)
        ON CONFLICT ON CONSTRAINT counter_pkey DO UPDATE SET last = c.last + advance."count"
        RETURNING c.last - advance."count" + 1 INTO first;
    RETURN first;
END $$;

-- The same from psql, with the lock: waits as rowlock.exclusive does.
CREATE FUNCTION rowlock.next(name text, "count" bigint DEFAULT 1, start bigint DEFAULT 1) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF next."count" NOT BETWEEN 1 AND 1000000000 THEN
        RAISE EXCEPTION 'rowlock: 1 to 1000000000 numbers at a time, not %', next."count"
            USING ERRCODE = '22023';
    END IF;
    PERFORM rowlock.exclusive('counter:' || next.name);
    RETURN rowlock.advance(next.name, next.start, next."count");
END $$;
COMMENT ON FUNCTION rowlock.next(text, bigint, bigint) IS
    'The next number of a counter, without a gap: ROLLBACK takes it back, and until COMMIT the next caller waits.';
