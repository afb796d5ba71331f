-- SPDX-License-Identifier: Apache-2.0
-- YugabyteDB's versions of functions in sql/postgresql/schema, based on its documentation. Each
-- function replaces the one with the same first line; its helper functions follow without an empty
-- line.
--
-- Differences from PostgreSQL: waits for row locks are limited by statement_timeout only, not by
-- lock_timeout. READ COMMITTED is in effect only if the servers are configured for it. Sequences do
-- not count in order. There is no xmin and no ctid, and no advisory locks before version 2025.1.

-- Raises an error if a lock here would be unsafe. A transaction above READ COMMITTED may not see
-- the changes of the previous holder; without yb_enable_read_committed_isolation every transaction
-- is above it.
CREATE FUNCTION rowlock.check_use(name text) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    asked constant text := pg_catalog.current_setting('transaction_isolation');
    given constant text := coalesce(pg_catalog.current_setting(
            'yb_effective_transaction_isolation_level', true), asked);
BEGIN
    IF pg_catalog.lower(given) NOT IN ('read committed', 'read uncommitted') THEN
        RAISE EXCEPTION
            'rowlock: a transaction at % may not see the changes of the previous lock holder',
            pg_catalog.upper(given)
            USING ERRCODE = 'RL001',
                  HINT = CASE WHEN asked IN ('read committed', 'read uncommitted')
                              THEN 'The cluster''s servers need the flag '
                                   'yb_enable_read_committed_isolation=true.'
                              ELSE 'Begin it with BEGIN ISOLATION LEVEL READ COMMITTED.' END;
    ELSIF name IS NULL
          OR pg_catalog.octet_length(pg_catalog.convert_to(name, 'UTF8')) NOT BETWEEN 1 AND 255 THEN
        RAISE EXCEPTION 'rowlock: a name must have 1 to 255 bytes of UTF-8'
            USING ERRCODE = 'RL003';
    END IF;
END $$;
-- Returns the time until which lock_timeout allows a wait that begins now; NULL: no limit.
CREATE FUNCTION rowlock.wait_deadline() RETURNS timestamptz LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN pg_catalog.clock_timestamp()
        + nullif(pg_catalog.current_setting('lock_timeout')::interval, interval '0');
END $$;
-- Pauses between two tries. Raises the error of lock_timeout, which the server does not apply to
-- row locks.
CREATE FUNCTION rowlock.pause(until timestamptz) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF pg_catalog.clock_timestamp() >= until THEN
        RAISE EXCEPTION 'rowlock: not locked within lock_timeout' USING ERRCODE = '55P03';
    END IF;
    PERFORM pg_catalog.pg_sleep(greatest(0, least(0.025, coalesce(
        extract(epoch FROM until - pg_catalog.clock_timestamp()), 0.025))));
END $$;
-- Returns an identifier of the open transaction, which is valid until it ends.
CREATE FUNCTION rowlock.transaction() RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    known constant text := nullif(pg_catalog.current_setting('rowlock.transaction', true), '');
BEGIN
    RETURN coalesce(known, pg_catalog.set_config('rowlock.transaction', pg_catalog.md5(
        pg_catalog.random()::text || pg_catalog.clock_timestamp()::text
            || pg_catalog.pg_backend_pid()::text), true));
END $$;

-- As on PostgreSQL, but polls, up to lock_timeout, for a renewal or a fence in progress.
CREATE FUNCTION rowlock.sweep(token bigint) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    until constant timestamptz := rowlock.wait_deadline();
    removed bigint := 0;
    ended record;
BEGIN
    WHILE (SELECT pg_catalog.count(*) FROM rowlock.lease l WHERE l.token = sweep.token)
       <> (SELECT pg_catalog.count(*)
           FROM (SELECT FROM rowlock.lease l WHERE l.token = sweep.token
                                               FOR UPDATE SKIP LOCKED) mine) LOOP
        PERFORM rowlock.pause(until);
    END LOOP;
    LOOP
        PERFORM FROM rowlock.heartbeat b WHERE b.token = sweep.token FOR UPDATE SKIP LOCKED;
        EXIT WHEN FOUND OR NOT EXISTS (SELECT FROM rowlock.heartbeat b WHERE b.token = sweep.token);
        PERFORM rowlock.pause(until);
    END LOOP;
    DELETE FROM rowlock.heartbeat b
     WHERE b.token = sweep.token AND b.expires <= pg_catalog.clock_timestamp()
           RETURNING b.expires, b.stop INTO ended;
    IF FOUND OR NOT EXISTS (SELECT FROM rowlock.heartbeat b WHERE b.token = sweep.token) THEN
        PERFORM rowlock.log_end(sweep.token, ended.expires, ended.stop);
        DELETE FROM rowlock.lease l WHERE l.token = sweep.token;
        GET DIAGNOSTICS removed = ROW_COUNT;
    END IF;
    RETURN removed;
END $$;

-- Deletes all rows of the history whose time has passed, because no physical address limits a batch
-- here. Returns their number, but always less than `batch`, so that a caller does not repeat it.
CREATE FUNCTION rowlock.prune(batch bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    rules record;
    now_ constant timestamptz := pg_catalog.clock_timestamp();
    removed bigint;
BEGIN
    SELECT * INTO rules FROM rowlock.history_rules();
    DELETE FROM rowlock.history h
     WHERE h.ended < now_ - CASE h.how WHEN 'released' THEN rules.keep_good
                            ELSE rules.keep_bad END::double precision * interval '1 ms';
    GET DIAGNOSTICS removed = ROW_COUNT;
    RETURN least(removed, batch - 1);
END $$;

-- As on PostgreSQL, but polls.
CREATE FUNCTION rowlock.lock_own_lease(name text, shared boolean, token bigint, may_wait boolean)
RETURNS integer LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    until constant timestamptz := rowlock.wait_deadline();
BEGIN
    LOOP
        IF shared THEN
            PERFORM FROM rowlock.lease l
                WHERE l.token = lock_own_lease.token AND l.name = lock_own_lease.name
                     AND l.mode <> 'permit' FOR SHARE SKIP LOCKED;
        ELSE
            PERFORM FROM rowlock.lease l
                WHERE l.token = lock_own_lease.token AND l.name = lock_own_lease.name
                     AND l.mode = 'exclusive' FOR UPDATE SKIP LOCKED;
        END IF;
        IF FOUND THEN
            RETURN 0;
        ELSIF NOT EXISTS (SELECT FROM rowlock.lease l
                          WHERE l.token = lock_own_lease.token AND l.name = lock_own_lease.name
                             AND (l.mode = 'exclusive' OR shared AND l.mode = 'shared')) THEN
            RETURN 8;
        ELSIF NOT may_wait THEN
            RETURN 1;
        END IF;
        PERFORM rowlock.pause(until);
    END LOOP;
END $$;

-- Draws a number, because every draw here lifts them.
CREATE FUNCTION rowlock.lift_numbers() RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM rowlock.next_number();
END $$;

-- Draws a token or a ticket, greater than every earlier one, from one row. The row stays locked
-- until COMMIT, which serializes the grants of the whole database. The number is never behind the
-- clock (2^20 numbers a second are more than any cluster commits), so that a restored backup
-- repeats none.
CREATE FUNCTION rowlock.next_number() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    drawn bigint;
BEGIN
    UPDATE rowlock.origin o
       SET floor = greatest(o.floor + 1,
                            (extract(epoch FROM pg_catalog.clock_timestamp())::numeric
                             * 1048576.0)::bigint)
     WHERE o.only_one RETURNING o.floor INTO drawn;
    RETURN drawn;
END $$;

-- As on PostgreSQL; the lock of the owner is lock_owner's.
CREATE FUNCTION rowlock.name_lock_all(wants text, owner text, wait_ms bigint, OUT status integer,
                                      OUT name text)
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
            status := rowlock.name_lock(name, want.mode = 'shared');
        ELSE
            status := rowlock.try_name_lock(name, want.mode = 'shared');
        END IF;
        IF status <> 0 THEN
            RETURN;
        END IF;
    END LOOP;
    name := NULL;
END $$;

-- As on PostgreSQL. Inserts the owner's key into the heartbeats, below all tokens, and deletes it
-- again: an earlier call of the owner that has inserted it makes this one wait until its
-- transaction ends.
CREATE FUNCTION rowlock.lock_owner(owner text) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    key constant bigint := pg_catalog.hashtextextended(owner,
                                                       8386112019297791602) | (-9223372036854775807
                                                                               - 1);
BEGIN
    INSERT INTO rowlock.heartbeat (token, expires) VALUES (key, '-infinity');
    DELETE FROM rowlock.heartbeat b WHERE b.token = key;
END $$;

CREATE FUNCTION rowlock.grant_lease(wants text, owner text, ttl_ms bigint, wait_ms bigint,
                                    ticket bigint, session bigint, host text, pid bigint,
                                    command text, note text,
                                    OUT status integer, OUT name text, OUT token bigint,
                                    OUT number bigint, OUT detail text)
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    SELECT g.* INTO status, name, token, number, detail
      FROM rowlock.grant_any(wants, owner, ttl_ms, wait_ms, ticket, session, host, pid, command,
                             note) g;
END $$;

-- As on PostgreSQL, without the fast path.
CREATE FUNCTION rowlock.release_lease(token bigint, name text DEFAULT NULL, owner text DEFAULT NULL)
RETURNS integer LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM pg_catalog.set_config('synchronous_commit', 'off', true);
    RETURN CASE WHEN rowlock.remove_lease(token, name, owner) THEN 0 ELSE 8 END;
END $$;

-- There are no session locks to wait for: waiters poll, and alive_until shows which ones live.
CREATE FUNCTION rowlock.is_own(session bigint) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN false;
END $$;

CREATE FUNCTION rowlock.session_lock(number bigint) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN false;
END $$;

CREATE FUNCTION rowlock.session_unlock(number bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN false;
END $$;

CREATE FUNCTION rowlock.session_unlock_lost() RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
END $$;

-- Deletes a ticket whose alive_until has passed. Returns whether the ticket is gone.
CREATE FUNCTION rowlock.remove_dead(ticket bigint) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    DELETE FROM rowlock.waiter w WHERE w.ticket = remove_dead.ticket
       AND (w.alive_until IS NULL OR w.alive_until <= pg_catalog.clock_timestamp());
    RETURN FOUND OR NOT EXISTS (SELECT FROM rowlock.waiter w WHERE w.ticket = remove_dead.ticket);
END $$;

-- Does not wait: there is no session lock.
CREATE FUNCTION rowlock.await(kind integer, number bigint, limit_ms bigint, ticket bigint)
RETURNS integer LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN 0;
END $$;

-- Does nothing, because there is no session lock to wait for; place and grant do the work.
CREATE FUNCTION rowlock.grant_first(name text, owner text, ttl_ms bigint, ticket bigint,
                                    session bigint,
                              host text, pid bigint, command text, note text) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN NULL;
END $$;

-- Returns no names: rows do not show which transaction has locked them.
CREATE FUNCTION rowlock.locked_names() RETURNS TABLE (name text) LANGUAGE plpgsql VOLATILE AS $$
BEGIN
END $$;

-- Returns no transactions: the server does not show which ones hold a name.
CREATE FUNCTION rowlock.transactions(name text)
RETURNS TABLE (pid bigint, host text, program text, since timestamptz, mode text)
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
END $$;

CREATE FUNCTION rowlock.show_holder(name text) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
END $$;

-- Takes the name lock. With a lock_timeout it polls; without one it waits in the server's queue, as
-- long as statement_timeout and the cluster's own limit allow. Returns 0.
CREATE FUNCTION rowlock.name_lock(name text, shared boolean) RETURNS integer
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    until constant timestamptz := rowlock.wait_deadline();
BEGIN
    IF until IS NOT NULL THEN
        WHILE rowlock.try_name_lock(name, shared) <> 0 LOOP
            PERFORM rowlock.pause(until);
        END LOOP;
        RETURN 0;
    END IF;
    LOOP
        PERFORM rowlock.make_known(name);
        IF shared THEN
            PERFORM FROM rowlock.name r WHERE r.name = name_lock.name COLLATE "C" FOR SHARE;
        ELSE
            PERFORM FROM rowlock.name r WHERE r.name = name_lock.name COLLATE "C" FOR UPDATE;
        END IF;
        IF FOUND THEN
            RETURN 0;
        END IF;
    END LOOP;
END $$;
-- Creates the row of a name by a write outside the transaction: it holds no lock, so that no
-- session ever waits for it, and it remains when the transaction is rolled back.
CREATE FUNCTION rowlock.make_known(name text) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM rowlock.name r WHERE r.name = make_known.name COLLATE "C") THEN
        SET LOCAL yb_disable_transactional_writes = true;
        INSERT INTO rowlock.name (name) VALUES (make_known.name) ON CONFLICT DO NOTHING;
        SET LOCAL yb_disable_transactional_writes = false;
    END IF;
END $$;

CREATE FUNCTION rowlock.try_name_lock(name text, shared boolean) RETURNS integer
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM rowlock.make_known(name);
    IF shared THEN
        PERFORM FROM rowlock.name r
            WHERE r.name = try_name_lock.name COLLATE "C" FOR SHARE SKIP LOCKED;
    ELSE
        PERFORM FROM rowlock.name r
            WHERE r.name = try_name_lock.name COLLATE "C" FOR UPDATE SKIP LOCKED;
    END IF;
    RETURN CASE WHEN FOUND THEN 0 ELSE 1 END;
END $$;

-- Has no fast path: PostgreSQL's relies on BEGIN ISOLATION LEVEL READ COMMITTED.
CREATE FUNCTION rowlock.begin_one(name text)
RETURNS integer LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN rowlock.begin_name(name, -1);
END $$;

CREATE FUNCTION rowlock.begin_one(name text, wait_ms bigint)
RETURNS integer LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN rowlock.begin_name(name, wait_ms);
END $$;

-- Removes the row of a name unless another session holds it. Waits for no lock. A session that
-- waits for the row creates it again.
CREATE FUNCTION rowlock.unlock(name text) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM rowlock.check_use(name);
    DELETE FROM rowlock.name r
     USING (SELECT u.name FROM rowlock.name u
            WHERE u.name = unlock.name COLLATE "C" FOR UPDATE SKIP LOCKED) unheld
     WHERE r.name = unheld.name;
    IF FOUND THEN
        DELETE FROM rowlock.prepared p WHERE p.name = unlock.name COLLATE "C";
    END IF;
END $$;
COMMENT ON FUNCTION rowlock.unlock(text) IS
    'Removes the row of the name when the transaction commits, unless another session holds it; '
    'call it last. Waits for no lock.';

-- Returns no sessions: the server does not show which ones wait.
CREATE FUNCTION rowlock.blocked() RETURNS TABLE (key bigint, pid integer, mode text)
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
END $$;

-- Lists tickets, each alive as rowlock.list defines it; the server does not show sessions that wait
-- in a transaction.
CREATE VIEW rowlock.waiters AS
SELECT w.name, 'lease' AS kind, w.mode, w.ticket,
       pg_catalog.row_number() OVER (PARTITION BY w.name ORDER BY w.ticket) AS place,
       CASE WHEN w.mode = 'permit' THEN w."count" END AS permits, w."limit", w.pid, w.host,
       w.command AS program, w.note, w.since, rowlock.key(w.name) AS key
  FROM rowlock.waiter w
 WHERE w.alive_until > pg_catalog.clock_timestamp();
COMMENT ON VIEW rowlock.waiters IS
    'Waiters in the queue for a lease (place 1 is next). The server does not show sessions that '
    'wait in a transaction.';

-- Lists leases; the server does not show which transactions hold a name.
CREATE VIEW rowlock.holders AS
SELECT l.name, 'lease' AS kind, l.mode, l.token,
           CASE WHEN l.mode = 'permit' THEN pg_catalog.count(*) END AS permits, l."limit", l.pid,
       l.host, l.command AS program, l.note, l.acquired AS since, b.expires, b.stop AS broken,
       (SELECT pg_catalog.count(*) FROM rowlock.waiters w WHERE w.name = l.name) AS waiting,
       rowlock.key(l.name) AS key
  FROM rowlock.lease l JOIN rowlock.heartbeat b ON b.token = l.token
 WHERE b.expires > pg_catalog.clock_timestamp()
 GROUP BY l.name, l.mode, l.token, l."limit", l.pid, l.host, l.command, l.note, l.acquired,
     b.expires, b.stop;
COMMENT ON VIEW rowlock.holders IS
    'Leases: pid is the holding program on host; broken: the lease ends at its next renewal. The '
    'server does not show transactions that hold a name.';

-- As on PostgreSQL, without the view lift.
CREATE FUNCTION rowlock.quiet_until(waited bigint) RETURNS timestamptz
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    history constant text := (SELECT s.history FROM rowlock.setting s);
BEGIN
    RETURN CASE WHEN waited >= 1000 OR history = 'all' THEN '-infinity'::timestamptz
                WHEN history IN ('off', 'problems') THEN 'infinity'::timestamptz
                ELSE pg_catalog.clock_timestamp() + interval '10 s' END;
END $$;
