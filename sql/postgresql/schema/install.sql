-- SPDX-License-Identifier: Apache-2.0
-- rowlock on PostgreSQL: the tables, and what every other file needs. An install is one script in
-- one transaction: adopt.sql, this file, history.sql, lease.sql, queue.sql, door.sql, request.sql,
-- counter.sql, schedule.sql, job.sql, job_decide.sql, job_door.sql, subject.sql, native.sql or
-- insert.sql, and views.sql.
--
-- Two kinds of lock. A transaction lock is the name lock, pg_advisory_xact_lock of rowlock.key of
-- the name, and then a look at the leases. A lease is a row of the table lease, and outlives its
-- session. A grant of a lease holds the name lock from its look to its COMMIT.
--
-- Every function runs with the rights of its caller (SECURITY INVOKER, except one trigger function
-- of insert.sql), without dynamic SQL. Every function that reads a table is VOLATILE: each of its
-- statements has its own snapshot, so that a read after a lock was acquired sees what the previous
-- holder committed.
--
-- Status codes: 0 locked, granted; 1 the name lock is busy; 2 timed out; 3 leased; 7 canceled; 8
-- lease lost; 9 not at READ COMMITTED; 10 a standby or a read-only transaction; 11 queued; 12 not
-- queued; 13 limits differ; 14 broken.

CREATE TABLE rowlock.meta (
    version   integer NOT NULL,
    technique text NOT NULL,     -- native, insert
    object    text,              -- technique insert: its table
    id_width  integer,           -- characters of that table's id; NULL: no limit
    owned     boolean NOT NULL,  -- whether rowlock created that table
    only_one  boolean PRIMARY KEY DEFAULT true CHECK (only_one)
);

-- The leases. No UPDATE changes the key (name, n):
--   n <= 0: the row of the name, at its generation: an exclusive lease (token > 0), a gate (token
--     0), or a mark that the name has moved to the generation `token` (token < 0). The row with the
--     least n counts. A free name has none, or only such marks.
--   n > 0: a shared lease, or the permits of a lease; n is the token. The name's row is a gate.
-- The unique key decides which INSERT acquires the name. While a gate stands, or the lease is
-- `queued`, only the functions grant and release. lease.sql has the rules, and the reasons are in
-- docs/internals/design.md.
CREATE TABLE rowlock.lease (
    token    bigint NOT NULL,
    expires  timestamptz NOT NULL,
    -- Rows of rowlock have clock_timestamp(): later than the statement's start. Any other row is
    -- that of a restore, or of a user (see rowlock.see_foreign).
    acquired timestamptz NOT NULL DEFAULT pg_catalog.statement_timestamp(),
    -- a release before this time leaves no row in the history
    quiet_until timestamptz NOT NULL DEFAULT 'infinity',
    n        bigint NOT NULL DEFAULT 0,
    waited   bigint NOT NULL DEFAULT 0,  -- in the queue, in milliseconds
    -- so that searches meet no row that has ended: no ticket up to `served` waits, and no member of
    -- a gate has an n up to `least`
    served   bigint NOT NULL DEFAULT 0,
    least    bigint NOT NULL DEFAULT 0,
    pid      bigint,
    "limit"  integer,                    -- how many permits the name has
    "count"  integer NOT NULL DEFAULT 1, -- how many of them this lease has
    queued   boolean NOT NULL DEFAULT false, -- waiters have tickets
    stop     boolean NOT NULL DEFAULT false, -- broken: no further renewal
    alone    boolean NOT NULL DEFAULT true,  -- its token has no other row
    mode     text NOT NULL DEFAULT 'exclusive', -- exclusive, shared, permit, gate, moved
    name     text COLLATE "C" NOT NULL,
    owner    text,                       -- of the call that acquired it
    host     text,
    command  text,
    note     text,
    PRIMARY KEY (name, n)
);
-- A lease is held, renewed and ended by its token. In an upgrade, IF NOT EXISTS would make every
-- call that changes the table wait for its COMMIT; so all indexes are created in this way.
DO $$
BEGIN
    IF pg_catalog.to_regclass('rowlock.lease_token') IS NULL THEN
        CREATE INDEX lease_token ON rowlock.lease (token) WHERE token > 0;
    END IF;
END $$;

-- Waiters for a lease: one ticket per call, one row per name. While alive_until is NULL, the
-- session lock of the ticket shows whether the waiter lives; otherwise the waiter counts as alive
-- until that time. roll_call is the number of the roll call that the waiter has not answered (see
-- rowlock.overtake). The last four columns are the roll call of a waiter by SQL (rowlock.visit).
CREATE TABLE rowlock.waiter (
    ticket  bigint NOT NULL,
    name    text COLLATE "C" NOT NULL,
    mode    text NOT NULL,               -- as in lease
    "limit" integer,
    "count" integer NOT NULL DEFAULT 1,
    owner   text,
    host    text,
    pid     bigint,
    command text,
    note    text,
    since   timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),
    alive_until timestamptz,
    roll_call  bigint,
    behind  bigint,                      -- the ticket directly ahead
    visit_at timestamptz,                -- the time of the next visit; NULL: none
    called  bigint,                      -- the number of the roll call; NULL: not begun
    visits  integer NOT NULL DEFAULT 0,
    PRIMARY KEY (name, ticket)
);
DO $$
BEGIN
    IF pg_catalog.to_regclass('rowlock.waiter_ticket') IS NULL THEN
        CREATE INDEX waiter_ticket ON rowlock.waiter (ticket);
    END IF;
    IF pg_catalog.to_regclass('rowlock.waiter_owner') IS NULL THEN
        CREATE INDEX waiter_owner ON rowlock.waiter (owner);
    END IF;
END $$;

-- Every lease changes these tables. Searches read past dead rows, so autovacuum must remove them
-- early. No search may be a sequential scan, which the planner chooses for a table of a few pages:
-- so the tables begin with more pages (at the end of this file) and are never truncated.
ALTER TABLE rowlock.lease
    SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
                               vacuum_truncate = false);
ALTER TABLE rowlock.waiter
    SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
                                vacuum_truncate = false);

-- Which ended leases the history keeps, and for how many milliseconds: keep_good for released
-- leases, keep_bad for all others. Without a row the defaults apply: slow, a day, a week. A table
-- of its own, because a dump of the extension contains its row, but not those of meta and origin.
CREATE TABLE rowlock.setting (
    history   text NOT NULL CHECK (history IN ('off', 'problems', 'slow', 'all')),
    keep_good bigint NOT NULL,
    keep_bad  bigint NOT NULL,
    only_one  boolean PRIMARY KEY DEFAULT true CHECK (only_one)
);

-- Tokens and tickets. A restored dump, or a standby that lagged and was promoted, would draw old
-- numbers again. So numbers are drawn only while lifted_for shows that the sequence was lifted for
-- this start of the server, this database and this row of origin (see rowlock.next_number). A
-- restore writes a new row, and a sequence keeps its value when a transaction rolls back. Each
-- session verifies that once, and each of its grants that origin has not changed since; a change of
-- setting changes it too.
CREATE SEQUENCE rowlock.number;
CREATE SEQUENCE rowlock.lifted;      -- every number is greater
CREATE SEQUENCE rowlock.lifted_for;  -- the origin: server start, database, row of origin
CREATE TABLE rowlock.origin (
    boot timestamptz, -- when the row was inserted
    only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one)
);

-- A text for people, in UTF-8, as the encoding of this database can store it: "?" takes the place
-- of a character that it lacks. So the end of a run is recorded whatever its command printed. The
-- pattern takes hexadecimal digits apart: ASCII, a character of several bytes, and bytes that are
-- neither.
CREATE FUNCTION rowlock.storable(given bytea) RETURNS text
LANGUAGE plpgsql VOLATILE SET exit_on_error = off AS $$
DECLARE
    piece text;
    stored text := '';
BEGIN
    RETURN pg_catalog.convert_from(given, 'UTF8');
EXCEPTION WHEN untranslatable_character OR character_not_in_repertoire THEN
    FOR piece IN
        SELECT m.part[1] FROM pg_catalog.regexp_matches(pg_catalog.encode(given, 'hex'),
            '((?:(?!00)[0-7].)+|[c-f].(?:[89ab].)*|..)', 'g') m (part)
    LOOP
        BEGIN
            stored := stored || {from_hex piece};
        EXCEPTION WHEN untranslatable_character OR character_not_in_repertoire THEN
            stored := stored || '?';
        END;
    END LOOP;
    RETURN stored;
END $$;

-- Returns the 64-bit key of a name, which pg_advisory_xact_lock locks: PostgreSQL's own hash of its
-- bytes. The seed (the bytes "rowlock" as a number) makes a collision with other programs' advisory
-- locks unlikely. SHA-256 would cost more than the lock itself.
CREATE FUNCTION rowlock.key(name text) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT {key_of name}
$$;
COMMENT ON FUNCTION rowlock.key(text) IS
    'Returns the advisory lock key of a name. In pg_locks: locktype advisory, objsubid 1, key = '
    'classid::bigint << 32 | objid::bigint.';

-- Returns the advisory lock key of a number, the second space of keys: session locks (of a ticket
-- or a token), and the locks of transactions beneath their own lease.
CREATE FUNCTION rowlock.session_key(number bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT {session_key_of number}
$$;

-- Raises an error if a lock here would be unsafe. Locks on a standby exclude no other session. A
-- transaction above READ COMMITTED may not see the changes of the previous holder.
CREATE FUNCTION rowlock.check_use(name text) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF pg_catalog.pg_is_in_recovery() THEN
        RAISE EXCEPTION
            'rowlock: this server is a standby: locks here would not exclude other sessions'
            USING ERRCODE = 'RL002';
    ELSIF pg_catalog.current_setting('transaction_isolation') NOT IN ('read committed',
                                                                      'read uncommitted') THEN
        RAISE EXCEPTION
            'rowlock: a transaction at % may not see the changes of the previous lock holder',
                        pg_catalog.upper(pg_catalog.current_setting('transaction_isolation'))
            USING ERRCODE = 'RL001', HINT = 'Begin it with BEGIN ISOLATION LEVEL READ COMMITTED.';
    ELSIF name IS NULL
          OR pg_catalog.octet_length(pg_catalog.convert_to(name, 'UTF8')) NOT BETWEEN 1 AND 255 THEN
        RAISE EXCEPTION 'rowlock: a name must have 1 to 255 bytes of UTF-8'
            USING ERRCODE = 'RL003';
    END IF;
END $$;

-- Draws a token or a ticket, greater than every earlier one, even after a crash, a restore or a
-- failover. A grant draws its token after it has taken all name locks. Where the numbers were not
-- lifted for this origin, it lifts the sequence above every number that this database may have
-- drawn before a restore or a failover, and above `above` (of another server). The clock gives 2^20
-- numbers a second, more than any server commits. It adds 65536, because a statement that found the
-- origin valid may still be drawing, and setval must not go back behind it. The error at the end
-- rolls back the subtransaction: this releases the lock, however the caller's transaction ends, and
-- undoes no setval. The lift is recorded last, in case the session ends in between.
CREATE FUNCTION rowlock.next_number(above bigint DEFAULT 0) RETURNS bigint
LANGUAGE plpgsql VOLATILE SET exit_on_error = off AS $$
DECLARE
    numbers record;
    drawn bigint;
BEGIN
    LOOP
        SELECT pg_catalog.nextval('rowlock.number') INTO drawn FROM rowlock.origin o
         WHERE pg_catalog.pg_sequence_last_value('rowlock.lifted_for') = {origin_of o};
        IF drawn > greatest(pg_catalog.pg_sequence_last_value('rowlock.lifted'), above, 0::bigint)
            THEN
            RETURN drawn;
        END IF;
        BEGIN
            PERFORM pg_catalog.pg_advisory_xact_lock({lift_lock});
            -- statements after the wait, so that they see what other sessions lifted
            SELECT {origin_of o} AS origin, f.last_value AS lifted_for,
                   greatest(l.last_value, above) AS floor, n.last_value INTO numbers
              FROM rowlock.origin o, rowlock.lifted_for f, rowlock.lifted l, rowlock.number n;
            IF NOT FOUND AND above > 0 THEN -- amid a restore, whose origin will lift the numbers
                RETURN pg_catalog.setval('rowlock.lifted', greatest(l.last_value, above))
                  FROM rowlock.lifted l;
            ELSIF NOT FOUND THEN
                RAISE EXCEPTION 'rowlock: cannot draw a number: the table rowlock.origin is empty'
                    USING ERRCODE = '55000',
                        HINT = 'If no restore is under way: INSERT INTO rowlock.origin DEFAULT '
                        'VALUES;';
            ELSIF numbers.lifted_for <> numbers.origin OR numbers.last_value <= numbers.floor THEN
                drawn := greatest(numbers.last_value + 65536, numbers.floor + 1,
                                  (extract(epoch FROM pg_catalog.clock_timestamp())::numeric
                                   * 1048576.0)::bigint);
                PERFORM pg_catalog.setval('rowlock.number', drawn);
                PERFORM pg_catalog.setval('rowlock.lifted', drawn);
                PERFORM pg_catalog.setval('rowlock.lifted_for', numbers.origin);
            END IF;
            RAISE EXCEPTION 'rowlock: lifted' USING ERRCODE = 'RL100';
        EXCEPTION WHEN SQLSTATE 'RL100' THEN
            NULL;
        END;
    END LOOP;
END $$;

-- Raises an error in place of a row that row level security could hide: see policies.sql. It costs
-- less than any other condition, so that the server evaluates it first.
CREATE FUNCTION rowlock.refuse_hidden(relation text) RETURNS boolean
LANGUAGE plpgsql VOLATILE COST 0.0001 AS $$
BEGIN
    RAISE EXCEPTION
        'rowlock: row level security could hide rows of rowlock.% from %; run as its owner: ALTER '
        'TABLE rowlock.% DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY',
                    pg_catalog.quote_ident(relation), pg_catalog.quote_ident(current_user),
                    pg_catalog.quote_ident(relation)
        USING ERRCODE = 'RL010';
END $$;
{show_rows};

INSERT INTO rowlock.lease (token, n, expires, acquired, name, note)
SELECT 0, -n, '-infinity', pg_catalog.clock_timestamp(), '', pg_catalog.repeat('-', 1900)
  FROM pg_catalog.generate_series(1, 80) n;
INSERT INTO rowlock.waiter (ticket, name, mode, note)
SELECT -n, '', 'shared', pg_catalog.repeat('-', 1900) FROM pg_catalog.generate_series(1, 80) n;
DELETE FROM rowlock.lease WHERE name = '';
DELETE FROM rowlock.waiter WHERE ticket < 0;
INSERT INTO rowlock.origin (boot) VALUES (pg_catalog.clock_timestamp()) ON CONFLICT DO NOTHING;
INSERT INTO rowlock.meta (version, technique, owned) VALUES ({schema_version}, 'none', false)
    ON CONFLICT DO NOTHING;
UPDATE rowlock.meta SET version = {schema_version};
DO $$ BEGIN PERFORM rowlock.next_number(); END $$;
