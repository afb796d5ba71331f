-- SPDX-License-Identifier: Apache-2.0
-- SQL functions for leases that wait, for clients without the C library: request, cancel. The
-- client repeats one statement, with the same owner, until it returns a token. Between two calls it
-- has only its ticket, whose alive_until is 7 s ahead, and no session lock: so a request works
-- behind a pooler. A client that dies or freezes delays the queue by at most 12 s.
--
-- The queue is that of queue.sql. A call only reads while it waits, so that no session waits for
-- it. At its end it grants the lease, or records that the waiter lives.

-- The roll call of such a waiter, which its next call continues. The C library keeps this in
-- memory: src/lease/machine/queue.c describes the three visits.
CREATE TABLE rowlock.roll_caller (
    ticket bigint PRIMARY KEY,
    behind bigint NOT NULL,                -- the ticket directly ahead
    due    timestamptz NOT NULL,           -- the time of the next visit
    called bigint,                         -- the number of the roll call; NULL: not begun
    waited boolean NOT NULL DEFAULT false  -- whether the second visit was made
);

-- Requests differ only by their owner, so two requests must not have the same one.
CREATE FUNCTION rowlock.check_owner(owner text) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF owner IS NULL OR pg_catalog.octet_length(owner) NOT BETWEEN 16 AND 64 THEN
        RAISE EXCEPTION 'rowlock: owner must have 16 to 64 bytes'
            USING ERRCODE = '22023',
                HINT = 'Draw a random one for each lease, such as gen_random_uuid()::text, and '
                'repeat the request with it.';
    END IF;
END $$;

-- Checks the lengths: those of MariaDB's columns.
CREATE FUNCTION rowlock.check_about(host text, program text, note text) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    wrong constant text := CASE
        WHEN pg_catalog.length(host) > 255 THEN 'host has more than 255'
        WHEN pg_catalog.length(program) > 255 THEN 'program has more than 255'
        WHEN pg_catalog.length(note) > 1024 THEN 'note has more than 1024' END;
BEGIN
    IF wrong IS NOT NULL THEN
        RAISE EXCEPTION 'rowlock: % characters', wrong USING ERRCODE = '22001';
    END IF;
END $$;

-- Raises an error in a transaction that has written: other sessions would wait for its COMMIT. A
-- transaction that has only read looks like a call in autocommit, so the server ends its session
-- when it is idle for 2 s. Returns that limit, or the caller's if it is shorter.
CREATE FUNCTION rowlock.check_transaction() RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    idle constant text := pg_catalog.current_setting('idle_in_transaction_session_timeout');
BEGIN
    IF pg_catalog.pg_current_xact_id_if_assigned() IS NOT NULL THEN
        RAISE EXCEPTION 'rowlock: a request needs a transaction of its own, but one is open'
            USING ERRCODE = '25001',
                HINT = 'COMMIT first, and call it in autocommit: the others wait for your COMMIT.';
    END IF;
    RETURN CASE WHEN idle::interval > interval '0' AND idle::interval < interval '2 s' THEN idle
                ELSE '2s' END;
END $$;

-- Waits until the ticket is next and no lease conflicts, and only reads. It ends early if the
-- ticket is gone, must report that its waiter lives, or has another limit; if the alive_until of
-- the ticket ahead has passed and no other session has its row locked; and if the session lock of
-- the ticket ahead is free: then `dead` is that ticket.
CREATE FUNCTION rowlock.wait_turn(wants text, name text, ticket bigint, until timestamptz,
                                  OUT is_next boolean, OUT waited boolean, OUT dead bigint)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    way record;
    ahead record;
    number bigint;
    unlocked bigint := 0;
    left_ms bigint;
    pause_ms bigint;
BEGIN
    waited := false;
    LOOP
        SELECT k.status, k.number, rowlock.time_left(k.expires) AS left_ms INTO way
          FROM rowlock.look_lease(wants, true) k;
        SELECT q.ticket, q.alive_until, pg_catalog.count(*) OVER () AS before INTO ahead
          FROM (SELECT w.ticket, w.alive_until FROM rowlock.waiter w
                 WHERE w.name = wait_turn.name COLLATE "C"
                   AND (w.name, w.ticket) < (wait_turn.name COLLATE "C", wait_turn.ticket)
                 ORDER BY w.ticket DESC LIMIT 17) q ORDER BY q.ticket DESC LIMIT 1;
        left_ms := ({in_ms until - pg_catalog.clock_timestamp()})::bigint;
        is_next := ahead.ticket IS NULL AND way.status IN (0, 4);
        EXIT WHEN is_next OR left_ms <= 0 OR way.status = 13
            OR CASE WHEN ahead.alive_until <= pg_catalog.clock_timestamp()
                    THEN (SELECT w.ticket FROM rowlock.waiter w
                           WHERE w.name = wait_turn.name COLLATE "C" AND w.ticket = ahead.ticket
                             FOR UPDATE SKIP LOCKED) IS NOT NULL END
            OR NOT EXISTS (SELECT FROM rowlock.waiter w
                            WHERE w.name = wait_turn.name COLLATE "C"
                              AND w.ticket = wait_turn.ticket AND w.roll_call IS NULL);
        waited := true;
        number := coalesce(ahead.ticket, way.number);
        IF number <> unlocked THEN
            pause_ms := 10;
            unlocked := number * rowlock.await(1, number, least(left_ms,
                CASE WHEN ahead.ticket IS NULL THEN way.left_ms ELSE 3000 END), ticket);
        ELSIF ahead.ticket IS NOT NULL AND ahead.alive_until IS NULL THEN
            dead := number;
            EXIT;
        ELSE -- it has no session lock
            PERFORM pg_catalog.pg_sleep(least(left_ms, pause_ms)::double precision
                                        / 1000::double precision);
            pause_ms := least(2 * pause_ms, 100 + 50 * coalesce(ahead.before, 0));
        END IF;
    END LOOP;
END $$;

CREATE FUNCTION rowlock.forget_roll_calls() RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    DELETE FROM rowlock.roll_caller c
     WHERE c.ticket = ANY (ARRAY(
        SELECT o.ticket FROM rowlock.roll_caller o
         WHERE NOT EXISTS (SELECT FROM rowlock.waiter w WHERE w.ticket = o.ticket)
           FOR UPDATE SKIP LOCKED));
END $$;

-- Makes the next visit of a roll call if it is due, for a ticket that finds the name free behind
-- `behind`, at the same times as the library's waiters.
CREATE FUNCTION rowlock.visit(wants text, ticket bigint, behind bigint, before bigint,
                              limit_ms bigint) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    now_ constant timestamptz := pg_catalog.clock_timestamp();
    own record;
    number bigint;
BEGIN
    SELECT c.behind, c.due, c.called, c.waited INTO own
      FROM rowlock.roll_caller c WHERE c.ticket = visit.ticket;
    IF NOT FOUND OR before > 16 AND own.behind <> behind THEN
        PERFORM rowlock.forget_roll_calls();
        INSERT INTO rowlock.roll_caller (ticket, behind, due)
        VALUES (visit.ticket, visit.behind,
                now_ + CASE WHEN before > 16 THEN interval '10 s' ELSE interval '2 s' END)
            ON CONFLICT ON CONSTRAINT roll_caller_pkey DO UPDATE
           SET behind = excluded.behind, due = excluded.due, called = NULL, waited = false;
        RETURN;
    ELSIF own.due > now_ THEN
        RETURN;
    ELSIF now_ >= own.due + interval '3 s' THEN -- suspended, perhaps with all the others
        own.called := NULL;
        own.waited := false;
    END IF;
    number := rowlock.overtake(wants, ticket, CASE WHEN own.waited THEN own.called ELSE 0 END,
                               limit_ms);
    IF number <> 0 AND own.waited THEN
        DELETE FROM rowlock.roll_caller c WHERE c.ticket = visit.ticket;
    ELSE
        UPDATE rowlock.roll_caller c
           SET due = pg_catalog.clock_timestamp()
                   + CASE WHEN number <> 0 AND own.called IS NULL THEN interval '5 s'
                          ELSE interval '2 s' END,
               called = coalesce(own.called, nullif(number, 0)),
               waited = number <> 0 AND own.called IS NOT NULL
         WHERE c.ticket = visit.ticket;
    END IF;
END $$;

-- Grants the lease to the ticket that is next. If the call had to wait, the client may have died
-- meanwhile: so the lease lasts at most 3 s, and its token is not returned. The next call adopts
-- it.
CREATE FUNCTION rowlock.grant_next(wants text, name text, owner text, ttl_ms bigint, ticket bigint,
                                   fresh boolean, until timestamptz, host text, pid bigint,
                                   program text, note text,
                                   OUT status integer, OUT token bigint, OUT detail text)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    short_ms constant bigint := least(ttl_ms, 3000);
    -- a call that does not wait does so for the name lock, as every try does
    left_ms constant bigint :=
        greatest(250, ({in_ms until - pg_catalog.clock_timestamp()})::bigint);
    waited boolean := NOT fresh;
BEGIN
    SELECT g.status, g.token, g.detail INTO status, token, detail
      FROM rowlock.try_grant(wants, name, owner, CASE WHEN fresh THEN ttl_ms ELSE short_ms END, 0,
                             ticket, host, pid, program, note) g;
    IF status = 1 THEN -- in one wait: short tries starve behind others' locks
        waited := true;
        SELECT g.status, g.token, g.detail INTO status, token, detail
          FROM rowlock.try_grant(wants, name, owner, short_ms, left_ms, ticket, host, pid, program,
                                 note) g;
    END IF;
    token := CASE WHEN NOT waited THEN token END;
END $$;

-- One attempt of a request; it may change settings of the transaction. status 0: the lease is
-- granted; `token` is NULL if only the next call may adopt it.
CREATE FUNCTION rowlock.attempt(wants text, name text, owner text, ttl_ms bigint, wait_ms bigint,
                                mode text, limit_ integer, host text, pid bigint, program text,
                                note text, OUT status integer, OUT token bigint,
                                OUT ticket bigint, OUT place bigint, OUT detail text)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    began constant timestamptz := pg_catalog.clock_timestamp();
    until timestamptz := began + {interval rowlock.slice(wait_ms)};
    turn record;
    spot record;
BEGIN
    IF wait_ms = 0 THEN
        until := began;
    END IF;
    FOR look IN 1..2 LOOP
        -- the call must end before the ticket's alive_until, which it renews then
        SELECT w.ticket, least(until, w.alive_until - interval '1 s',
                               (SELECT c.due FROM rowlock.roll_caller c WHERE c.ticket = w.ticket))
          INTO ticket, until
          FROM (SELECT 1) one LEFT JOIN rowlock.waiter w
            ON w.owner = attempt.owner AND w.name = attempt.name COLLATE "C"
               AND w.mode = attempt.mode AND w."limit" IS NOT DISTINCT FROM limit_;
        EXIT WHEN ticket IS NOT NULL OR look = 2;
        -- A cancel waits for the grant or the ticket of this call. This call may wait here for an
        -- earlier one, whose reply was lost: then its ticket is there now.
        PERFORM rowlock.lock_owner(owner);
    END LOOP;
    -- an owner has one request: another ticket, or a lease in another mode, is an error
    IF ticket IS NULL AND EXISTS (SELECT FROM rowlock.waiter w WHERE w.owner = attempt.owner)
       OR EXISTS (SELECT FROM (SELECT l.owner, l.mode, l."limit" FROM rowlock.lease l
                                WHERE l.name = attempt.name COLLATE "C" OFFSET 0) l
                   WHERE l.owner = attempt.owner
                     AND (l.mode <> attempt.mode OR l."limit" IS DISTINCT FROM limit_)) THEN
        RAISE EXCEPTION 'rowlock: this owner has requested another lease' USING ERRCODE = '22023',
            HINT = 'Draw a random owner for each lease, such as gen_random_uuid()::text.';
    END IF;
    -- an earlier call, whose reply was lost, may have acquired the lease although there is a ticket
    IF ticket IS NULL
       OR EXISTS (SELECT FROM (SELECT l.owner FROM rowlock.lease l
                                WHERE l.name = attempt.name COLLATE "C" OFFSET 0) l
                   WHERE l.owner = attempt.owner) THEN
        SELECT g.status, g.token, g.detail INTO status, token, detail
          FROM rowlock.try_grant(wants, name, owner, ttl_ms, 0, coalesce(ticket, 0), host, pid,
                                 program, note) g;
        IF status IN (0, 6, 13) THEN
            RETURN;
        END IF;
    END IF;
    IF ticket IS NULL THEN
        SELECT e.status, e.number, e.detail INTO status, ticket, detail
          FROM rowlock.enqueue(wants, owner, 0, 7000, host, pid, program, note) e;
        IF status = 13 THEN
            ticket := NULL;
            RETURN;
        END IF;
    ELSE -- it has queued
        SELECT * INTO turn FROM rowlock.wait_turn(wants, name, ticket, until);
        IF turn.is_next THEN
            SELECT g.* INTO status, token, detail
              FROM rowlock.grant_next(wants, name, owner, ttl_ms, ticket, NOT turn.waited, until,
                                      host, pid, program, note) g;
            IF status IN (0, 6, 13) THEN
                place := 0;
                RETURN;
            END IF;
        ELSIF turn.dead IS NOT NULL THEN
            PERFORM rowlock.remove_dead(turn.dead);
        END IF;
    END IF;
    SELECT * INTO spot FROM rowlock.place(wants, ticket, 0, 7000);
    status := spot.status;
    detail := spot.detail;
    place := spot.before + 1;
    IF status = 12 THEN -- the next call queues again
        ticket := NULL;
        place := NULL;
    ELSIF status = 11 AND spot.free = 1 THEN
        PERFORM rowlock.visit(wants, ticket, spot.number, spot.before,
            greatest(250, least(2000, ({in_ms until - pg_catalog.clock_timestamp()})::bigint)));
    ELSE
        DELETE FROM rowlock.roll_caller c WHERE c.ticket = attempt.ticket;
    END IF;
END $$;

-- Raises an error above READ COMMITTED, as rowlock.acquire does.
CREATE FUNCTION rowlock.request(
    name text, ttl interval, owner text, wait interval DEFAULT '0', mode text DEFAULT 'exclusive',
    limit_ integer DEFAULT NULL, host text DEFAULT NULL, pid bigint DEFAULT NULL,
    program text DEFAULT NULL, note text DEFAULT NULL,
    OUT token bigint, OUT ticket bigint, OUT place bigint, OUT holder text, OUT pause interval)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    wait_limit constant text := pg_catalog.current_setting('lock_timeout');
    idle constant text := rowlock.check_transaction();
    commit_ constant text := pg_catalog.current_setting('synchronous_commit');
    answer record;
BEGIN
    PERFORM rowlock.check_use(name COLLATE "default"), rowlock.check_owner(owner),
            rowlock.check_about(host, program, note);
    SELECT * INTO answer FROM rowlock.attempt(
        rowlock.pack_lease(name COLLATE "default", mode, limit_), name COLLATE "default",
        owner COLLATE "default", rowlock.check_ttl(ttl),
        greatest(0, least(5000, pg_catalog.ceil({in_ms coalesce(wait, '0')})))::bigint,
        mode, limit_,
        coalesce(host, pg_catalog.host(pg_catalog.inet_client_addr()), '[local]'), pid,
        coalesce(program, nullif(pg_catalog.current_setting('application_name'), '')), note);
    PERFORM pg_catalog.set_config('lock_timeout', wait_limit, true),
            pg_catalog.set_config('idle_in_transaction_session_timeout', idle, true);
    IF answer.status = 0 AND answer.token IS NOT NULL THEN -- its COMMIT waits for the disk
        token := answer.token;
        pause := interval '0';
        RETURN;
    END IF;
    PERFORM pg_catalog.set_config('synchronous_commit', commit_, true);
    IF answer.status = 6 THEN
        PERFORM rowlock.fail(6, name);
    ELSIF answer.status = 13 THEN
        RAISE EXCEPTION 'rowlock: permits of "%": %', name, answer.detail USING ERRCODE = '22023';
    END IF;
    ticket := answer.ticket;
    place := answer.place;
    holder := CASE WHEN place > 0 THEN rowlock.holder(name COLLATE "default",
                                                     owner COLLATE "default") END;
    -- the place after the first looks as often as the first, which it may become at any time
    pause := CASE WHEN place > 0 THEN {interval least(5000, 100 * greatest(2, place))}
                  ELSE interval '0' END;
END $$;
COMMENT ON FUNCTION rowlock.request(text, interval, text, interval, text, integer, text, bigint,
                                    text, text) IS
    'Acquires a lease and returns its token, or enters the queue and returns token NULL, the '
    'place in the queue and the holder. Repeat the call with the same owner, a random text, until'
    ' it returns a token: at once after place 0, else within 5 s. It waits at most wait, up to 5 '
    's, once it is in the queue; pause: how long a client that does not wait here should pause. '
    'mode, limit_: as in acquire; host, pid, program, note: shown to those who list the holders.';

CREATE FUNCTION rowlock.cancel(name text, owner text) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    commit_ constant text := pg_catalog.current_setting('synchronous_commit');
    waiting bigint;
    held bigint;
BEGIN
    FOR attempt IN 1..2 LOOP
        waiting := (SELECT pg_catalog.max(w.ticket) FROM rowlock.waiter w
                     WHERE w.owner = cancel.owner COLLATE "default"
                       AND w.name = cancel.name COLLATE "C");
        EXIT WHEN attempt = 2 OR waiting IS NOT NULL;
        PERFORM rowlock.lock_owner(owner COLLATE "default");
    END LOOP;
    IF waiting IS NOT NULL THEN
        PERFORM rowlock.withdraw(waiting, owner COLLATE "default");
        DELETE FROM rowlock.roll_caller c WHERE c.ticket = waiting;
        PERFORM pg_catalog.set_config('synchronous_commit', commit_, true);
    END IF;
    -- read only now: the withdrawal waited for a grant in progress
    held := (SELECT pg_catalog.max(l.token)
               FROM (SELECT l.token, l.owner FROM rowlock.lease l
                      WHERE l.name = cancel.name COLLATE "C" OFFSET 0) l
              WHERE l.owner = cancel.owner COLLATE "default");
    RETURN CASE WHEN held IS NULL THEN waiting IS NOT NULL ELSE rowlock.remove_lease(held) END;
END $$;
COMMENT ON FUNCTION rowlock.cancel(text, text) IS
    'Ends a request: leaves the queue, or releases the lease if it was granted. Returns whether '
    'there was one.';
