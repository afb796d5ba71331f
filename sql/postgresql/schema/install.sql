-- SPDX-License-Identifier: Apache-2.0
-- rowlock on PostgreSQL: the tables, and the functions that are the same for every technique. An
-- install is one script in one transaction: adopt.sql, this file, history.sql, lease.sql,
-- queue.sql, turn.sql, batch.sql, door.sql, lease_door.sql, request.sql, counter.sql, schedule.sql,
-- subject.sql, one of native.sql, row.sql and insert.sql, and views.sql.
--
-- A lease is a lock that outlives its session: rows of the table lease, and a heartbeat that its
-- holder renews. The name lock is the engine's own lock on a name until the transaction ends; the
-- technique (native.sql, row.sql, insert.sql) defines it. A transaction lock takes the name lock
-- and then checks the leases. A grant of a lease holds the name lock from its check to its COMMIT.
--
-- Every function runs with the rights of its caller (SECURITY INVOKER, except one trigger function
-- of insert.sql), without dynamic SQL. Every function that reads a table is VOLATILE: each of its
-- statements has its own snapshot, so that a read after a lock was acquired sees what the previous
-- holder committed. Status codes: 0 locked, 1 busy, 2 timed out, 3 leased, 4 only expired leases
-- conflict, 5 not prepared, 6 leftover row, 7 canceled, 8 lease lost, 9 not at READ COMMITTED, 10 a
-- standby or a read-only transaction.
--
-- Every table has a primary key, or a replica identity as lease: a publication of all tables
-- refuses to change a table without one.

CREATE TABLE rowlock.meta (
    version   integer NOT NULL,
    technique text NOT NULL,     -- native, row, insert
    object    text,              -- technique insert: its table
    id_width  integer,           -- characters of that table's id; NULL: no limit
    owned     boolean NOT NULL,  -- whether rowlock created that table
    only_one  boolean PRIMARY KEY DEFAULT true CHECK (only_one)
);

-- A lease lives until its heartbeat expires. A renewal updates the heartbeat alone. A lease of one
-- exclusive name has none until its first renewal, because most leases end before that (see
-- rowlock.make_heartbeat): until then the columns of its lease row count. Every session locks the
-- lease row before the heartbeat.
CREATE TABLE rowlock.heartbeat (
    token   bigint PRIMARY KEY,
    expires timestamptz NOT NULL,
    stop    boolean NOT NULL DEFAULT false,
    -- a release before this time leaves no row in the history
    quiet_until timestamptz NOT NULL DEFAULT 'infinity'
);

-- One row per lease and name, or per permit. Never updated.
CREATE TABLE rowlock.lease (
    token    bigint NOT NULL,
    name     text COLLATE "C" NOT NULL,
    n        integer NOT NULL DEFAULT 1,
    mode     text NOT NULL,              -- exclusive, shared, permit; no CHECK, because each
                                         -- INSERT would parse it again
    -- of permits: how many the name has; n numbers the permits of a lease
    "limit"  integer,
    owner    text,                       -- of the call that acquired it
    host     text,
    pid      bigint,
    command  text,
    note     text,
    acquired timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp(),
    waited   bigint NOT NULL DEFAULT 0,  -- in the queue, in milliseconds
    expires  timestamptz,                -- NULL: the heartbeat exists since the grant
    quiet_until timestamptz NOT NULL DEFAULT 'infinity' -- as in heartbeat
);
-- It has no key: in one of token, name and n the planner would search for a name alone, and read
-- the whole key, when it expects few rows. So a publication identifies a row by all columns. A
-- repeated install skips ALTER TABLE, which waits for all transactions that have read the table.
CREATE INDEX lease_token ON rowlock.lease (token);
DO $$
BEGIN
    IF (SELECT c.relreplident FROM pg_catalog.pg_class c
         WHERE c.oid = 'rowlock.lease'::regclass::oid) <> 'f'::"char" THEN
        ALTER TABLE rowlock.lease REPLICA IDENTITY FULL;
    END IF;
END $$;
-- The column is token + 0, so that the planner never uses this index to search for a token alone.
CREATE INDEX lease_name ON rowlock.lease (name, (token + 0));

-- Waiters for a lease: one ticket per call, one row per name. While alive_until is NULL, the
-- session lock of the ticket shows whether the waiter lives; otherwise the waiter counts as alive
-- until that time. roll_call is the number of the roll call that the waiter has not answered (see
-- rowlock.overtake).
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
    PRIMARY KEY (name, ticket)
);
CREATE INDEX waiter_ticket ON rowlock.waiter (ticket);
CREATE INDEX waiter_owner ON rowlock.waiter (owner);

-- No lease of the name has a smaller token, so a search for leases begins there. Otherwise it would
-- read the index entries of all ended leases, which the server keeps while a snapshot of their time
-- is open. Only names whose search was slow have a row (see rowlock.store_least).
CREATE TABLE rowlock.least_token (
    name  text COLLATE "C" PRIMARY KEY,
    token bigint NOT NULL
);

-- Every lease reads these tables and changes most of them. Searches read past dead rows, so
-- autovacuum must remove them early. No search may be a sequential scan, which the planner chooses
-- for a table of a few pages: so the tables begin with more pages (at the end of this file) and are
-- never truncated.
ALTER TABLE rowlock.lease
    SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
                               vacuum_truncate = false);
ALTER TABLE rowlock.heartbeat
    SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
                              vacuum_truncate = false);
ALTER TABLE rowlock.waiter
    SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
                                vacuum_truncate = false);
ALTER TABLE rowlock.least_token
    SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
                                vacuum_truncate = false);

-- Which ended leases the history keeps, and for how many milliseconds: keep_good for released
-- leases, keep_bad for all others. Without a row the defaults apply (rowlock.history_rules).
CREATE TABLE rowlock.setting (
    history   text NOT NULL CHECK (history IN ('off', 'problems', 'slow', 'all')),
    keep_good bigint NOT NULL,
    keep_bad  bigint NOT NULL,
    only_one  boolean PRIMARY KEY DEFAULT true CHECK (only_one)
);

-- Tokens and tickets. A restored dump, or a standby that lagged and was promoted, would draw old
-- numbers again. So numbers are drawn only while lifted_for shows that the sequence was lifted for
-- this start of the server, this database and this row of origin. A restore writes a new row, and a
-- sequence keeps its value when a transaction rolls back. See rowlock.lift_numbers.
CREATE SEQUENCE rowlock.number;
CREATE SEQUENCE rowlock.lifted;      -- every number is greater
CREATE SEQUENCE rowlock.lifted_for;  -- the origin, as the view lift computes it
CREATE TABLE rowlock.origin (
    boot timestamptz, -- when the row was inserted; any change of the row makes the next draw lift
    only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one)
);

-- One row, which both the draws and rowlock.lift_numbers read. Numbers are valid while lifted_for =
-- origin; pg_sequence_last_value is NULL for a sequence that was just created. quiet_ms: for how
-- long the release of a new lease leaves no row in the history. The path of a file identifies the
-- database, because it contains the database's number. Every grant reads the view. So it scans one
-- table and contains no volatile function: then the server omits the columns that a query does not
-- read.
CREATE VIEW rowlock.lift AS
SELECT pg_catalog.hashint8extended(
           (pg_catalog.date_part('epoch', pg_catalog.pg_postmaster_start_time())
            * 1000000::double precision)::bigint,
           pg_catalog.hashtextextended(
               pg_catalog.pg_relation_filepath('rowlock.number'::pg_catalog.regclass),
               o.xmin::text::bigint))
           & 9223372036854775807 | 1::bigint AS origin,
       (SELECT f.last_value FROM rowlock.lifted_for f) AS lifted_for,
       (SELECT l.last_value FROM rowlock.lifted l) AS floor,
       CASE (SELECT s.history FROM rowlock.setting s)
           WHEN 'all' THEN 0 WHEN 'off' THEN 3155760000000 WHEN 'problems' THEN 3155760000000
           ELSE 10000 END::bigint AS quiet_ms
  FROM rowlock.origin o;

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

-- Returns the 64-bit key of a name, which technique native locks by pg_advisory_xact_lock:
-- PostgreSQL's own hash of its bytes. The seed (the bytes "rowlock" as a number) makes a collision
-- with other programs' advisory locks unlikely. SHA-256 would cost more than the lock itself.
CREATE FUNCTION rowlock.key(name text) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT pg_catalog.hashtextextended(name COLLATE "C", 32210706056045419)
$$;
COMMENT ON FUNCTION rowlock.key(text) IS
    'Returns the advisory lock key of a name. In pg_locks: locktype advisory, objsubid 1, key = '
    'classid::bigint << 32 | objid::bigint.';

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

-- Checks for conflicting leases: 0 none; 3 a live one; 4 only expired ones. An exclusive lock
-- conflicts with every lease, a shared one with all except shared ones. Here and in other functions
-- the heartbeat is a subquery, and OFFSET 0 separates the search for the leases of a name: when the
-- planner expects few rows, it would otherwise join both tables in the order of tokens.
CREATE FUNCTION rowlock.look(name text, shared boolean) RETURNS integer
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN (SELECT CASE WHEN pg_catalog.count(*) = 0 THEN 0
                        WHEN pg_catalog.bool_or({expires_of l} > pg_catalog.clock_timestamp())
                            THEN 3
                        ELSE 4 END
              FROM rowlock.lease l
             WHERE l.name = look.name AND (NOT look.shared OR l.mode <> 'shared'));
END $$;

-- Removes the lease of this token if it has expired, or has neither an expiry nor a heartbeat.
-- Returns the number of lease rows removed. Waits for a renewal or a fence in progress. The first
-- renewal has the lease row locked, each other one its heartbeat: so a new statement decides after
-- the wait for either.
CREATE FUNCTION rowlock.sweep(token bigint) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    removed bigint;
    first timestamptz;
    ended record;
BEGIN
    {sees_heartbeat sweep.token};
    SELECT pg_catalog.count(*), pg_catalog.max(k.expires) INTO removed, first
      FROM (SELECT l.expires FROM rowlock.lease l
             WHERE l.token = sweep.token
               AND NOT coalesce({expires_of l} > pg_catalog.clock_timestamp(), false)
             ORDER BY l.n, l.name FOR UPDATE) k;
    IF removed = 0 THEN
        RETURN 0;
    END IF;
    DELETE FROM rowlock.heartbeat b
     WHERE b.token = sweep.token AND b.expires <= pg_catalog.clock_timestamp()
           RETURNING b.expires, b.stop INTO ended;
    IF NOT FOUND AND EXISTS (SELECT FROM rowlock.heartbeat b WHERE b.token = sweep.token) THEN
        RETURN 0;
    END IF;
    PERFORM rowlock.log_end(sweep.token, coalesce(ended.expires, first),
                            coalesce(ended.stop, false));
    DELETE FROM rowlock.lease l WHERE l.token = sweep.token;
    RETURN removed;
END $$;

-- Unpacks the names of one call from the library's format, HEX(name):x|s:token joined by commas, in
-- the order in which they must be locked.
CREATE FUNCTION rowlock.unpack(wants text)
RETURNS TABLE (name text, shared boolean, token bigint) LANGUAGE plpgsql VOLATILE ROWS 2 AS $$
BEGIN
    RETURN QUERY
        SELECT u.name, u.shared, u.token
          FROM (SELECT {from_hex pg_catalog.split_part(w, ':', 1)} AS name,
                       pg_catalog.split_part(w, ':', 2) = 's' AS shared,
                       pg_catalog.split_part(w, ':', 3)::bigint AS token
                  FROM pg_catalog.unnest(pg_catalog.string_to_array(wants, ',')) w) u
         ORDER BY rowlock.rank(u.name), u.name COLLATE "C";
END $$;

-- Returns the tokens of expired leases that conflict with these names; none while a live lease
-- conflicts.
CREATE FUNCTION rowlock.expired(wants text) RETURNS SETOF bigint LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN QUERY
        WITH conflict AS (
            SELECT l.token, l.live
              FROM rowlock.unpack(wants) w,
           LATERAL (SELECT l.token, {expires_of l} > pg_catalog.clock_timestamp() AS live
                      FROM rowlock.lease l
                     WHERE l.name = w.name AND (NOT w.shared OR l.mode <> 'shared') OFFSET 0) l
             WHERE w.token = 0)
        SELECT DISTINCT c.token FROM conflict c
         WHERE NOT EXISTS (SELECT FROM conflict d WHERE d.live)
         ORDER BY c.token;
END $$;

-- Removes the expired leases that conflict with these names, whose name locks the caller holds. 0:
-- no lease conflicts any more; 3: one does, and nothing was removed. A row that remains is a
-- conflict whatever its expiry time, because its renewal may be in progress. Each lock wait lasts
-- at most limit_ms.
CREATE FUNCTION rowlock.clear(wants text, limit_ms bigint) RETURNS integer
LANGUAGE plpgsql VOLATILE SET exit_on_error = off AS $$
DECLARE
    saved text := pg_catalog.current_setting('lock_timeout');
BEGIN
    IF pg_catalog.current_setting('transaction_read_only') = 'on' THEN
        RETURN 3;
    END IF;
    BEGIN
        PERFORM pg_catalog.set_config('lock_timeout', greatest(limit_ms, 1)::text, true);
        PERFORM rowlock.sweep(e) FROM rowlock.expired(wants) e;
        PERFORM FROM rowlock.unpack(wants) w,
             LATERAL (SELECT FROM rowlock.lease l
                       WHERE l.name = w.name AND (NOT w.shared OR l.mode <> 'shared') OFFSET 0) l
          WHERE w.token = 0;
        IF FOUND THEN
            RAISE EXCEPTION 'rowlock: still leased' USING ERRCODE = 'RL100';
        END IF;
        PERFORM pg_catalog.set_config('lock_timeout', saved, true);
        RETURN 0;
    EXCEPTION WHEN SQLSTATE 'RL100' OR lock_not_available THEN
        RETURN 3;
    END;
END $$;

-- Locks the row of the caller's own lease in place of the name. Returns 0, 1 (may_wait is false and
-- another transaction with the same token holds it) or 8. On the collation see lease.sql. NO KEY:
-- the first renewal, which locks the row FOR KEY SHARE, does not wait.
CREATE FUNCTION rowlock.lock_own_lease(name text, shared boolean, token bigint, may_wait boolean)
RETURNS integer LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF shared AND may_wait THEN
        PERFORM FROM rowlock.lease l
            WHERE l.token = lock_own_lease.token AND l.name COLLATE "default" = lock_own_lease.name
                 AND l.mode <> 'permit' FOR SHARE;
    ELSIF shared THEN
        PERFORM FROM rowlock.lease l
            WHERE l.token = lock_own_lease.token AND l.name COLLATE "default" = lock_own_lease.name
                 AND l.mode <> 'permit' FOR SHARE SKIP LOCKED;
    ELSIF may_wait THEN
        PERFORM FROM rowlock.lease l
            WHERE l.token = lock_own_lease.token AND l.name COLLATE "default" = lock_own_lease.name
                 AND l.mode = 'exclusive' FOR NO KEY UPDATE;
    ELSE
        PERFORM FROM rowlock.lease l
            WHERE l.token = lock_own_lease.token AND l.name COLLATE "default" = lock_own_lease.name
                 AND l.mode = 'exclusive' FOR NO KEY UPDATE SKIP LOCKED;
    END IF;
    IF FOUND THEN
        RETURN 0;
    END IF;
    PERFORM FROM rowlock.lease l
        WHERE l.token = lock_own_lease.token AND l.name COLLATE "default" = lock_own_lease.name
             AND (l.mode = 'exclusive' OR shared AND l.mode = 'shared');
    RETURN CASE WHEN FOUND AND NOT may_wait THEN 1 ELSE 8 END;
END $$;

-- Takes the name lock; or, with a token, locks the row of the caller's own lease.
CREATE FUNCTION rowlock.lock_name(name text, shared boolean, token bigint, may_wait boolean)
RETURNS integer LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF token <> 0 THEN
        RETURN rowlock.lock_own_lease(name, shared, token, may_wait);
    ELSIF may_wait THEN
        RETURN rowlock.name_lock(name, shared);
    END IF;
    RETURN rowlock.try_name_lock(name, shared);
END $$;

-- Sets lock_timeout for one wait, up to `until` (NULL: no limit). The least value is 1 ms, because
-- 0 would mean no limit.
CREATE FUNCTION rowlock.limit_wait(until timestamptz) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM pg_catalog.set_config('lock_timeout',
        CASE WHEN until IS NULL THEN '0'
             ELSE greatest(1, least(2147483647, pg_catalog.ceil(
                      {in_ms until - pg_catalog.clock_timestamp()})))::bigint::text END,
        true);
END $$;

CREATE FUNCTION rowlock.after(wait_ms bigint) RETURNS timestamptz LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN CASE WHEN wait_ms >= 0
                THEN pg_catalog.clock_timestamp() + {interval least(wait_ms, 2147483647)} END;
END $$;

-- Locks additional names in an open transaction, all or none: after any status other than 0, the
-- transaction and its earlier locks are unchanged. After the name locks it waits for leases as long
-- as wait_ms and lease_ms both allow. sweep 0: does not remove expired leases in this transaction,
-- but reports them.
CREATE FUNCTION rowlock.lock(wants text, wait_ms bigint, lease_ms bigint, sweep integer,
                             OUT status integer, OUT name text, OUT stays integer, OUT detail text)
LANGUAGE plpgsql VOLATILE SET exit_on_error = off AS $$
DECLARE
    deadline constant timestamptz := rowlock.after(wait_ms);
    may_wait constant boolean := wait_ms <> 0;
    saved constant text := pg_catalog.current_setting('lock_timeout');
    want record;
    until timestamptz;
    pause double precision := 0.01;
BEGIN
    status := 0;
    stays := 0;
    BEGIN
        FOR want IN SELECT * FROM rowlock.unpack(wants) LOOP
            name := want.name;
            PERFORM rowlock.check_use(name);
        END LOOP;
        IF NOT may_wait THEN
            SELECT f.status, f.name INTO status, name FROM rowlock.leased(wants) f;
            IF status = 3 OR status = 4 AND sweep = 0 THEN
                RAISE EXCEPTION 'rowlock: leased' USING ERRCODE = 'RL100';
            END IF;
        END IF;
        FOR want IN SELECT * FROM rowlock.unpack(wants) LOOP
            name := want.name;
            PERFORM rowlock.limit_wait(CASE WHEN may_wait THEN deadline
                                       ELSE pg_catalog.clock_timestamp() END);
            status := rowlock.lock_name(want.name, want.shared, want.token, may_wait);
            IF status <> 0 THEN
                RAISE EXCEPTION 'rowlock: not locked' USING ERRCODE = 'RL100';
            END IF;
        END LOOP;
        until := least(deadline, rowlock.after(lease_ms));
        LOOP
            SELECT f.status, f.name INTO status, name FROM rowlock.leased(wants) f;
            IF status = 4 AND sweep <> 0 THEN
                status := rowlock.clear(wants, CASE WHEN may_wait THEN 1500 ELSE 1 END);
            END IF;
            EXIT WHEN status = 0;
            IF status = 4 OR NOT may_wait OR pg_catalog.clock_timestamp() >= until THEN
                RAISE EXCEPTION 'rowlock: leased' USING ERRCODE = 'RL100';
            END IF;
            PERFORM pg_catalog.pg_sleep(greatest(0, least(pause, coalesce(
                extract(epoch FROM until - pg_catalog.clock_timestamp()), pause))));
            pause := least(pause * 2::double precision, 0.25);
        END LOOP;
        name := NULL;
        PERFORM pg_catalog.set_config('lock_timeout', saved, true);
    EXCEPTION
        WHEN SQLSTATE 'RL100' THEN
            detail := CASE WHEN status = 6 THEN rowlock.leftover(name)
                           WHEN status IN (1, 3, 4) THEN rowlock.holder(name) END;
        WHEN lock_not_available THEN
            status := CASE WHEN may_wait THEN 2 ELSE 1 END;
            detail := rowlock.holder(name);
        WHEN query_canceled THEN
            status := 7;
            detail := SQLERRM;
        WHEN SQLSTATE 'RL001' THEN
            status := 9;
            detail := SQLSTATE || ' ' || SQLERRM;
        WHEN SQLSTATE 'RL002' OR read_only_sql_transaction THEN
            status := 10;
            detail := SQLSTATE || ' ' || SQLERRM;
    END;
END $$;

-- Returns the first of these names with a conflicting lease, a live lease before an expired one.
CREATE FUNCTION rowlock.leased(wants text, OUT status integer, OUT name text)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    want record;
    found_status integer;
BEGIN
    status := 0;
    FOR want IN SELECT * FROM rowlock.unpack(wants) u WHERE u.token = 0 LOOP
        found_status := rowlock.look(want.name, want.shared);
        IF found_status = 3 OR found_status = 4 AND status = 0 THEN
            status := found_status;
            name := want.name;
        END IF;
        EXIT WHEN status = 3;
    END LOOP;
END $$;

-- Locks in a transaction that the library has just begun: takes the name lock of every name, then
-- checks for leases. It does not sweep, does not wait for a lease and has no savepoint: any status
-- other than 0 requires ROLLBACK.
CREATE FUNCTION rowlock.begin_lock(wants text, wait_ms bigint, OUT status integer, OUT name text,
                                   OUT stays integer, OUT detail text)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    deadline constant timestamptz := rowlock.after(wait_ms);
    saved constant text := pg_catalog.current_setting('lock_timeout');
    want record;
BEGIN
    stays := 0;
    FOR want IN SELECT * FROM rowlock.unpack(wants) LOOP
        name := want.name;
        PERFORM rowlock.check_use(name);
        IF wait_ms <> 0 THEN
            PERFORM rowlock.limit_wait(deadline);
        END IF;
        status := rowlock.lock_name(name, want.shared, want.token, wait_ms <> 0);
        IF status <> 0 THEN
            detail := CASE WHEN status = 6 THEN rowlock.leftover(name) END;
            RETURN;
        END IF;
    END LOOP;
    SELECT f.status, f.name INTO status, name FROM rowlock.leased(wants) f;
    PERFORM pg_catalog.set_config('lock_timeout', saved, true);
END $$;

-- The same for one name, where the fast path (rowlock.begin_one) does not apply. Before a wait it
-- runs the check for leases once, so that planning it does not delay the sessions behind this one.
CREATE FUNCTION rowlock.begin_name(name text, wait_ms bigint)
RETURNS integer LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    wants constant text := pg_catalog.encode(pg_catalog.convert_to(name, 'UTF8'), 'hex') || ':x:0';
    answer record;
BEGIN
    IF wait_ms <> 0 THEN
        PERFORM rowlock.leased(wants);
    END IF;
    SELECT * INTO answer FROM rowlock.begin_lock(wants, wait_ms);
    IF answer.status = 6 THEN
        PERFORM rowlock.fail(6, name);
    END IF;
    RETURN answer.status;
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

INSERT INTO rowlock.lease (token, name, mode, note)
SELECT -n, '', 'shared', pg_catalog.repeat('-', 1900) FROM pg_catalog.generate_series(1, 80) n;
INSERT INTO rowlock.waiter (ticket, name, mode, note)
SELECT -n, '', 'shared', pg_catalog.repeat('-', 1900) FROM pg_catalog.generate_series(1, 80) n;
INSERT INTO rowlock.heartbeat (token, expires) SELECT -n, '-infinity'
    FROM pg_catalog.generate_series(1, 3200) n;
INSERT INTO rowlock.least_token (name, token)
SELECT pg_catalog.repeat('-', 1900) || n::text, 0 FROM pg_catalog.generate_series(1, 80) n;
DELETE FROM rowlock.least_token WHERE name LIKE '-%';
DELETE FROM rowlock.lease WHERE token < 0;
DELETE FROM rowlock.waiter WHERE ticket < 0;
DELETE FROM rowlock.heartbeat WHERE token < 0;
INSERT INTO rowlock.origin (boot) VALUES (pg_catalog.clock_timestamp()) ON CONFLICT DO NOTHING;
INSERT INTO rowlock.meta (version, technique, owned) VALUES (2, 'none', false)
    ON CONFLICT DO NOTHING;
UPDATE rowlock.meta SET version = 2;
