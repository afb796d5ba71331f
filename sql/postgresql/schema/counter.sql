-- SPDX-License-Identifier: Apache-2.0
-- Counters: numbers without gaps. A number is drawn under a lock that lasts until COMMIT, and
-- ROLLBACK returns it; a sequence does neither. The lock is that of the name counter:NAME.

CREATE TABLE rowlock.counter (
    name text COLLATE "C" PRIMARY KEY,
    last bigint NOT NULL
);

-- For SQL clients: takes the lock and draws. Waits as rowlock.exclusive does. A new counter begins
-- with `start`. (next.sql draws for the library, which has taken the lock.)
CREATE FUNCTION rowlock.next(name text, "count" bigint DEFAULT 1, start bigint DEFAULT 1)
RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    first bigint;
BEGIN
    IF next."count" NOT BETWEEN 1 AND 1000000000 THEN
        RAISE EXCEPTION 'rowlock: 1 to 1000000000 numbers at a time, not %', next."count"
            USING ERRCODE = '22023';
    END IF;
    PERFORM rowlock.exclusive('counter:' || next.name);
    WITH asked AS (SELECT next.name AS name, next.start AS start, next."count" AS "count")
    {drawn_for asked} INTO first;
    RETURN first;
END $$;
COMMENT ON FUNCTION rowlock.next(text, bigint, bigint) IS
    'Draws the next number of a counter, without gaps: ROLLBACK returns the number, and the next '
    'caller waits until COMMIT.';
