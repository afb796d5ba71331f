-- SPDX-License-Identifier: Apache-2.0
-- YugabyteDB's own of what sql/postgresql/schema makes, after an article's locks for YugabyteDB and by its documentation.
-- Each function takes the place of the one whose first line is the same; helpers follow without an empty line.
--
-- What is different there: a row's lock is not waited for by lock_timeout, but by statement_timeout only; READ
-- COMMITTED is not what it says unless the servers are told so; sequences do not count in order; no xmin, no ctid;
-- no advisory locks before version 2025.1.

-- Says why no lock can be had here, or returns: a transaction above READ COMMITTED may not see what the lock waited
-- for, and without yb_enable_read_committed_isolation every one is above; names are 1 to 255 bytes.
CREATE FUNCTION rowlock.check_use(name text) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    asked constant text := pg_catalog.current_setting('transaction_isolation');
    given constant text := coalesce(pg_catalog.current_setting('yb_effective_transaction_isolation_level', true), asked);
BEGIN
    IF pg_catalog.lower(given) NOT IN ('read committed', 'read uncommitted') THEN
        RAISE EXCEPTION 'rowlock: a transaction at % may not see what the lock waited for', pg_catalog.upper(given)
            USING ERRCODE = 'RL001',
                  HINT = CASE WHEN asked IN ('read committed', 'read uncommitted')
                              THEN 'The cluster''s servers need the flag yb_enable_read_committed_isolation=true.'
                              ELSE 'Begin it with BEGIN ISOLATION LEVEL READ COMMITTED.' END;
    ELSIF name IS NULL OR pg_catalog.octet_length(pg_catalog.convert_to(name, 'UTF8')) NOT BETWEEN 1 AND 255 THEN
        RAISE EXCEPTION 'rowlock: a name has 1 to 255 bytes of UTF-8'
            USING ERRCODE = 'RL003';
    END IF;
END $$;
-- Until when lock_timeout allows a wait that begins now; NULL: for ever.
CREATE FUNCTION rowlock.patience() RETURNS timestamptz LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN pg_catalog.clock_timestamp()
        + nullif(pg_catalog.current_setting('lock_timeout')::interval, interval '0');
END $$;
-- Between two tries. The server ends no wait for a row by lock_timeout, so we do.
CREATE FUNCTION rowlock.pause(until timestamptz) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF pg_catalog.clock_timestamp() >= until THEN
        RAISE EXCEPTION 'rowlock: not locked within lock_timeout' USING ERRCODE = '55P03';
    END IF;
    PERFORM pg_catalog.pg_sleep(greatest(0, least(0.025, coalesce(
        extract(epoch FROM until - pg_catalog.clock_timestamp()), 0.025))));
END $$;
-- A name of the transaction that is open; it goes with it.
CREATE FUNCTION rowlock.transaction() RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    known constant text := nullif(pg_catalog.current_setting('rowlock.transaction', true), '');
BEGIN
    RETURN coalesce(known, pg_catalog.set_config('rowlock.transaction', pg_catalog.md5(
        pg_catalog.random()::text || pg_catalog.clock_timestamp()::text || pg_catalog.pg_backend_pid()::text), true));
END $$;

-- Removes the lease of this token if it has expired, or has no beat. Returns the lease rows removed.
-- Waits for a renewal or a fence that is under way, as lock_timeout says.
CREATE FUNCTION rowlock.sweep(token bigint) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    until constant timestamptz := rowlock.patience();
    removed bigint := 0;
BEGIN
    LOOP
        PERFORM FROM rowlock.beat b WHERE b.token = sweep.token FOR UPDATE SKIP LOCKED;
        EXIT WHEN FOUND OR NOT EXISTS (SELECT FROM rowlock.beat b WHERE b.token = sweep.token);
        PERFORM rowlock.pause(until);
    END LOOP;
    DELETE FROM rowlock.beat b WHERE b.token = sweep.token AND b.expires <= pg_catalog.clock_timestamp();
    IF FOUND OR NOT EXISTS (SELECT FROM rowlock.beat b WHERE b.token = sweep.token) THEN
        WHILE (SELECT pg_catalog.count(*) FROM rowlock.lease l WHERE l.token = sweep.token)
           <> (SELECT pg_catalog.count(*) FROM (SELECT FROM rowlock.lease l WHERE l.token = sweep.token
                                                   FOR UPDATE SKIP LOCKED) mine) LOOP
            PERFORM rowlock.pause(until);
        END LOOP;
        DELETE FROM rowlock.lease l WHERE l.token = sweep.token;
        GET DIAGNOSTICS removed = ROW_COUNT;
    END IF;
    RETURN removed;
END $$;

-- Locks beneath one's own lease: the lease's row stands for the name. 0, 1 (patient is false and
-- another transaction under the same token has it) or 8.
CREATE FUNCTION rowlock.take_own(name text, shared boolean, token bigint, patient boolean)
RETURNS integer LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    until constant timestamptz := rowlock.patience();
BEGIN
    LOOP
        IF shared THEN
            PERFORM FROM rowlock.lease l WHERE l.token = take_own.token AND l.name = take_own.name
                     AND l.mode <> 'permit' FOR SHARE SKIP LOCKED;
        ELSE
            PERFORM FROM rowlock.lease l WHERE l.token = take_own.token AND l.name = take_own.name
                     AND l.mode = 'exclusive' FOR UPDATE SKIP LOCKED;
        END IF;
        IF FOUND THEN
            RETURN 0;
        ELSIF NOT EXISTS (SELECT FROM rowlock.lease l WHERE l.token = take_own.token AND l.name = take_own.name
                             AND (l.mode = 'exclusive' OR shared AND l.mode = 'shared')) THEN
            RETURN 8;
        ELSIF NOT patient THEN
            RETURN 1;
        END IF;
        PERFORM rowlock.pause(until);
    END LOOP;
END $$;

-- Numbers have been lifted wherever one is drawn.
CREATE FUNCTION rowlock.lift_numbers() RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM rowlock.next_number();
END $$;

-- A token or a ticket, greater than every one before it. From one row, which is locked until COMMIT: so grants of the
-- whole database come one after the other. Never behind the clock (2^20 numbers a second are more than any cluster
-- commits), so that a backup which is restored draws none again.
CREATE FUNCTION rowlock.next_number() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    drawn bigint;
BEGIN
    UPDATE rowlock.origin o
       SET floor = greatest(o.floor + 1, (extract(epoch FROM pg_catalog.clock_timestamp())::numeric * 1048576.0)::bigint)
     WHERE o.only_one RETURNING o.floor INTO drawn;
    RETURN drawn;
END $$;

-- T of all names: exclusive for exclusive leases and permits, shared for shared ones. Under a shared T the
-- owner is locked too: a call of his whose reply was lost may still be on its way to its COMMIT.
CREATE FUNCTION rowlock.take_all(wants text, owner text, wait_ms bigint, OUT status integer, OUT name text)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    deadline constant timestamptz := rowlock.after(wait_ms);
    want record;
BEGIN
    IF pg_catalog.strpos(wants, ':s:') > 0 THEN
        PERFORM rowlock.lock_owner(owner);
    END IF;
    FOR want IN SELECT * FROM rowlock.unpack_lease(wants) LOOP
        name := want.name;
        PERFORM rowlock.check_use(name);
        IF wait_ms <> 0 THEN
            PERFORM rowlock.limit_wait(deadline);
            status := rowlock.take(name, want.mode = 'shared');
        ELSE
            status := rowlock.try_take(name, want.mode = 'shared');
        END IF;
        IF status <> 0 THEN
            RETURN;
        END IF;
    END LOOP;
    name := NULL;
END $$;
-- Waits for that call alone: its key among the beats, below all tokens, is inserted and deleted again.
CREATE FUNCTION rowlock.lock_owner(owner text) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    key constant bigint := pg_catalog.hashtextextended(owner, 8386112019297791602) | (-9223372036854775807 - 1);
BEGIN
    INSERT INTO rowlock.beat (token, expires) VALUES (key, '-infinity');
    DELETE FROM rowlock.beat b WHERE b.token = key;
END $$;

CREATE FUNCTION rowlock.grant_lease(wants text, owner text, ttl_ms bigint, wait_ms bigint, ticket bigint,
                                    session bigint, host text, pid bigint, command text, note text,
                                    OUT status integer, OUT name text, OUT token bigint, OUT number bigint,
                                    OUT detail text)
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    SELECT g.* INTO status, name, token, number, detail
      FROM rowlock.grant_any(wants, owner, ttl_ms, wait_ms, ticket, session, host, pid, command, note) g;
END $$;

-- Holds a lease valid until the caller's transaction ends: whoever wants to end it must delete this
-- row. Existence is validity, no clock.
CREATE FUNCTION rowlock.fence(name text, token bigint, limit_ms bigint, OUT status integer, OUT fenced text,
                              OUT stays integer, OUT detail text)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    until constant timestamptz := rowlock.after(greatest(limit_ms, 1));
BEGIN
    stays := 0;
    fenced := name;
    IF pg_catalog.current_setting('transaction_read_only') = 'on' THEN
        status := 10;
        detail := '25006 a read-only transaction can hold no lease valid';
        RETURN;
    END IF;
    LOOP
        PERFORM FROM rowlock.lease l WHERE l.token = fence.token AND l.name = fence.name COLLATE "C"
            FOR SHARE SKIP LOCKED;
        status := CASE WHEN FOUND THEN 0
                       WHEN NOT EXISTS (SELECT FROM rowlock.lease l WHERE l.token = fence.token
                                           AND l.name = fence.name COLLATE "C") THEN 8 END;
        EXIT WHEN status IS NOT NULL;
        PERFORM rowlock.pause(until);
    END LOOP;
EXCEPTION
    WHEN lock_not_available THEN
        status := 2;
    WHEN serialization_failure THEN
        status := 8;
    WHEN query_canceled THEN
        status := 7;
        detail := SQLERRM;
END $$;

-- No session has locks that another could wait for: who waits polls, and says until when he counts as alive.
CREATE FUNCTION rowlock.is_own(session bigint) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN false;
END $$;

CREATE FUNCTION rowlock.add_mark(number bigint) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN false;
END $$;

CREATE FUNCTION rowlock.drop_mark(number bigint) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN false;
END $$;

CREATE FUNCTION rowlock.drop_lost_mark() RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
END $$;

-- Ends a ticket that nobody stands behind any more. The row may be gone.
CREATE FUNCTION rowlock.remove_dead(ticket bigint) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    DELETE FROM rowlock.waiter w WHERE w.ticket = remove_dead.ticket
       AND (w.seen IS NULL OR w.seen <= pg_catalog.clock_timestamp());
    RETURN FOUND OR NOT EXISTS (SELECT FROM rowlock.waiter w WHERE w.ticket = remove_dead.ticket);
END $$;

-- There is nothing to wait for.
CREATE FUNCTION rowlock.await(kind integer, number bigint, limit_ms bigint, ticket bigint) RETURNS integer
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN 0;
END $$;

-- Nobody takes a turn: there is no session lock to wait for. Place and grant do it.
CREATE FUNCTION rowlock.seize(name text, owner text, ttl_ms bigint, ticket bigint, session bigint, host text, pid bigint,
                              command text, note text) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN NULL;
END $$;

-- Which names do transactions hold? Rows tell nobody who has locked them.
CREATE FUNCTION rowlock.locked_names() RETURNS TABLE (name text) LANGUAGE plpgsql VOLATILE AS $$
BEGIN
END $$;

-- The transactions that hold a name: nobody is told.
CREATE FUNCTION rowlock.transactions(name text)
RETURNS TABLE (pid bigint, host text, program text, since timestamptz, mode text)
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
END $$;

CREATE FUNCTION rowlock.mark(name text) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
END $$;

CREATE FUNCTION rowlock.waiting(name text) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN NULL;
END $$;

-- T: waits as lock_timeout says, else as long as statement_timeout and the cluster's own limit allow. 0. Without an
-- end it stands in the server's queue; with one it tries again and again.
CREATE FUNCTION rowlock.take(name text, shared boolean) RETURNS integer
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    until constant timestamptz := rowlock.patience();
BEGIN
    IF until IS NOT NULL THEN
        WHILE rowlock.try_take(name, shared) <> 0 LOOP
            PERFORM rowlock.pause(until);
        END LOOP;
        RETURN 0;
    END IF;
    LOOP
        PERFORM rowlock.make_known(name);
        IF shared THEN
            PERFORM FROM rowlock.name r WHERE r.name = take.name COLLATE "C" FOR SHARE;
        ELSE
            PERFORM FROM rowlock.name r WHERE r.name = take.name COLLATE "C" FOR UPDATE;
        END IF;
        IF FOUND THEN
            RETURN 0;
        END IF;
    END LOOP;
END $$;
-- A write outside the transaction, as the article does it for its shared locks: it holds no lock, so nobody ever waits
-- for it, and it stays when the transaction is rolled back.
CREATE FUNCTION rowlock.make_known(name text) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM rowlock.name r WHERE r.name = make_known.name COLLATE "C") THEN
        SET LOCAL yb_disable_transactional_writes = true;
        INSERT INTO rowlock.name (name) VALUES (make_known.name) ON CONFLICT DO NOTHING;
        SET LOCAL yb_disable_transactional_writes = false;
    END IF;
END $$;

-- T at once or not at all: 0 or 1.
CREATE FUNCTION rowlock.try_take(name text, shared boolean) RETURNS integer
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM rowlock.make_known(name);
    IF shared THEN
        PERFORM FROM rowlock.name r WHERE r.name = try_take.name COLLATE "C" FOR SHARE SKIP LOCKED;
    ELSE
        PERFORM FROM rowlock.name r WHERE r.name = try_take.name COLLATE "C" FOR UPDATE SKIP LOCKED;
    END IF;
    RETURN CASE WHEN FOUND THEN 0 ELSE 1 END;
END $$;

-- Begin-and-lock of one name. The short way of PostgreSQL's would trust BEGIN ISOLATION LEVEL READ COMMITTED.
CREATE FUNCTION rowlock.begin_one(name text)
RETURNS integer LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN rowlock.begin_rare(name, -1);
END $$;

CREATE FUNCTION rowlock.begin_one(name text, wait_ms bigint)
RETURNS integer LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN rowlock.begin_rare(name, wait_ms);
END $$;

-- What vacuum removes of the technique's own: rows that nobody holds. The article's statement.
CREATE FUNCTION rowlock.vacuum_names() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    removed bigint;
BEGIN
    WITH unheld AS (SELECT u.name FROM rowlock.name u FOR UPDATE SKIP LOCKED)
    DELETE FROM rowlock.name r WHERE r.name IN (SELECT h.name FROM unheld h);
    GET DIAGNOSTICS removed = ROW_COUNT;
    RETURN removed;
END $$;

-- Removes the row of a name, as the article does: who holds it is the caller, so it waits for nobody. Whoever waits for
-- it makes it known anew.
CREATE FUNCTION rowlock.unlock(name text) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM rowlock.check_use(name);
    DELETE FROM rowlock.name r
     USING (SELECT u.name FROM rowlock.name u WHERE u.name = unlock.name COLLATE "C" FOR UPDATE SKIP LOCKED) unheld
     WHERE r.name = unheld.name;
END $$;
COMMENT ON FUNCTION rowlock.unlock(text) IS
    'Removes the row of the name when the transaction commits, unless another holds it; call it last. Waits for nobody.';

-- Which sessions wait: nobody is told.
CREATE FUNCTION rowlock.blocked() RETURNS TABLE (key bigint, pid integer, mode text)
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
END $$;

-- Tickets, each alive as rowlock.list judges it; who waits in a transaction is not known.
CREATE VIEW rowlock.waiters AS
SELECT w.name, 'lease' AS kind, w.mode, w.ticket,
       pg_catalog.row_number() OVER (PARTITION BY w.name ORDER BY w.ticket) AS place,
       CASE WHEN w.mode = 'permit' THEN w."count" END AS permits, w."limit", w.pid, w.host,
       w.command AS program, w.note, w.since, rowlock.key(w.name) AS key
  FROM rowlock.waiter w
 WHERE w.seen > pg_catalog.clock_timestamp();
COMMENT ON VIEW rowlock.waiters IS
    'Who waits in the queue for a lease (place 1 is next). Who waits in a transaction, nobody is told.';

-- Leases; who holds in a transaction is not known.
CREATE VIEW rowlock.holders AS
SELECT l.name, 'lease' AS kind, l.mode, l.token,
           CASE WHEN l.mode = 'permit' THEN pg_catalog.count(*) END AS permits, l."limit", l.pid, l.host,
       l.command AS program, l.note, l.acquired AS since, b.expires, b.stop AS broken,
       (SELECT pg_catalog.count(*) FROM rowlock.waiters w WHERE w.name = l.name) AS waiting, rowlock.key(l.name) AS key
  FROM rowlock.lease l JOIN rowlock.beat b ON b.token = l.token
 WHERE b.expires > pg_catalog.clock_timestamp()
 GROUP BY l.name, l.mode, l.token, l."limit", l.pid, l.host, l.command, l.note, l.acquired, b.expires, b.stop;
COMMENT ON VIEW rowlock.holders IS
    'Who holds a lease: pid is that of its program on host, broken: it will stop at its next renewal. Who holds a name in a transaction, nobody is told.';
