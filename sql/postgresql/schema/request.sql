-- SPDX-License-Identifier: Apache-2.0
-- SQL functions for leases that wait, for clients without the C library: request, cancel. The
-- client repeats one statement, with the same owner, until it returns a token. Between two calls it
-- has only its ticket, whose alive_until is 7 s ahead, and no session lock: so a request works
-- behind a pooler. A client that dies or freezes delays the queue by at most 12 s.
--
-- The queue is that of queue.sql. A call only reads while it waits, so that no session waits for
-- it. At its end it grants the lease, or records that the waiter lives.

-- Checks the lengths of texts about a client: those of MariaDB's columns.
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

-- Checks a call that is repeated with the same owner. Calls differ only by their owner, so two
-- requests must not have the same one. Raises an error in a transaction that has written: other
-- sessions would wait for its COMMIT. A transaction that has only read looks like a call in
-- autocommit, so the server ends its session when it is idle for 2 s. Returns that limit, or the
-- caller's if it is shorter.
CREATE FUNCTION rowlock.check_call(name text, owner text) RETURNS text
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    idle constant text := pg_catalog.current_setting('idle_in_transaction_session_timeout');
BEGIN
    IF pg_catalog.pg_current_xact_id_if_assigned() IS NOT NULL THEN
        RAISE EXCEPTION 'rowlock: a request needs a transaction of its own, but one is open'
            USING ERRCODE = '25001',
                HINT = 'COMMIT first, and call it in autocommit: the others wait for your COMMIT.';
    END IF;
    PERFORM rowlock.check_use(name);
    IF owner IS NULL OR pg_catalog.octet_length(owner) NOT BETWEEN 16 AND 64 THEN
        RAISE EXCEPTION 'rowlock: owner must have 16 to 64 bytes'
            USING ERRCODE = '22023',
                HINT = 'Draw a random one for each lease, such as gen_random_uuid()::text, and '
                'repeat the request with it.';
    END IF;
    RETURN CASE WHEN idle::interval > interval '0' AND idle::interval < interval '2 s' THEN idle
                ELSE '2s' END;
END $$;

-- Waits until the ticket is next and no lease conflicts, and only reads. It ends early if the
-- ticket is gone, must report that its waiter lives, or has another limit; if the alive_until of
-- the ticket ahead has passed and no other session has its row locked; and if the session lock of
-- the ticket ahead is free: then `dead` is that ticket.
CREATE FUNCTION rowlock.wait_turn(ticket bigint, until timestamptz,
                                  OUT is_next boolean, OUT waited boolean, OUT dead bigint)
LANGUAGE plpgsql VOLATILE SET enable_bitmapscan = off AS $$
DECLARE
    own rowlock.waiter;
    way record;
    ahead record;
    number bigint;
    unlocked bigint := 0;
    left_ms bigint;
    pause_ms bigint;
BEGIN
    waited := false;
    LOOP
        SELECT * INTO own FROM rowlock.waiter w
         WHERE w.ticket = wait_turn.ticket AND w.roll_call IS NULL;
        EXIT WHEN NOT FOUND;
        SELECT k.status, k.number, greatest(1, least(1000,
                   ({in_ms k.expires - pg_catalog.clock_timestamp()})::bigint)) AS left_ms INTO way
          FROM rowlock.look(own.name, own.mode, own."limit", own."count", ticket, true) k;
        SELECT q.ticket, q.alive_until, pg_catalog.count(*) OVER () AS before INTO ahead
          FROM (SELECT w.ticket, w.alive_until FROM rowlock.waiter w
                 WHERE w.name = own.name AND (w.name, w.ticket) < (own.name, wait_turn.ticket)
                 ORDER BY w.ticket DESC LIMIT 17) q ORDER BY q.ticket DESC LIMIT 1;
        left_ms := ({in_ms until - pg_catalog.clock_timestamp()})::bigint;
        is_next := ahead.ticket IS NULL AND way.status = 0;
        EXIT WHEN is_next OR left_ms <= 0 OR way.status = 13
            OR CASE WHEN ahead.alive_until <= pg_catalog.clock_timestamp()
                    THEN (SELECT w.ticket FROM rowlock.waiter w
                           WHERE w.name = own.name AND w.ticket = ahead.ticket
                             FOR UPDATE SKIP LOCKED) IS NOT NULL END;
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
    is_next := coalesce(is_next, false);
END $$;

-- Makes the next visit of a roll call if it is due, for a ticket that finds the name free behind
-- `behind`, at the same times as the library's waiters: src/lease/machine/queue.c describes the
-- three visits.
CREATE FUNCTION rowlock.visit(ticket bigint, behind bigint, before bigint, limit_ms bigint)
RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    now_ constant timestamptz := pg_catalog.clock_timestamp();
    own rowlock.waiter;
    number bigint;
BEGIN
    SELECT * INTO own FROM rowlock.waiter w WHERE w.ticket = visit.ticket;
    IF own.visit_at IS NULL OR before > 16 AND own.behind <> behind THEN
        UPDATE rowlock.waiter w
           SET behind = visit.behind, called = NULL, visits = 0,
               visit_at = now_ + CASE WHEN before > 16 THEN interval '10 s' ELSE interval '2 s' END
         WHERE w.ticket = visit.ticket;
        RETURN;
    ELSIF own.visit_at > now_ THEN
        RETURN;
    ELSIF now_ >= own.visit_at + interval '3 s' THEN -- suspended, perhaps with all the others
        own.called := NULL;
        own.visits := 0;
    END IF;
    number := rowlock.overtake(ticket, CASE WHEN own.visits = 2 THEN own.called ELSE 0 END,
                               limit_ms);
    UPDATE rowlock.waiter w
       SET visit_at = CASE WHEN number <> 0 AND own.visits = 2 THEN NULL
                           ELSE pg_catalog.clock_timestamp()
                                + CASE WHEN number <> 0 AND own.visits = 0 THEN interval '5 s'
                                       ELSE interval '2 s' END END,
           called = coalesce(own.called, nullif(number, 0)),
           visits = own.visits + (number <> 0)::integer
     WHERE w.ticket = visit.ticket;
END $$;

-- One attempt of a request; it may change settings of the transaction. status 0: the lease is
-- granted. If the call had to wait, the client may have died meanwhile: then the lease lasts at
-- most 3 s, and `token` is NULL: the next call adopts it.
CREATE FUNCTION rowlock.attempt(name text, owner text, ttl_ms bigint, wait_ms bigint,
                                mode text, limit_ integer, host text, pid bigint, program text,
                                note text, OUT status integer, OUT token bigint,
                                OUT ticket bigint, OUT place bigint)
LANGUAGE plpgsql VOLATILE SET exit_on_error = off AS $$
DECLARE
    began constant timestamptz := pg_catalog.clock_timestamp();
    short_ms constant bigint := least(ttl_ms, 3000);
    wait constant bigint := CASE WHEN wait_ms = 0 THEN 0 ELSE {slice wait_ms} END;
    until timestamptz := began + {interval wait};
    turn record;
    spot record;
    found_detail text;
BEGIN
    FOR look IN 1..2 LOOP
        -- the call must end before the ticket's alive_until, which it renews then
        SELECT w.ticket, least(until, w.alive_until - interval '1 s', w.visit_at)
          INTO ticket, until
          FROM (SELECT 1) one LEFT JOIN rowlock.waiter w
            ON w.owner = attempt.owner AND w.name = attempt.name COLLATE "C"
               AND w.mode = attempt.mode AND w."limit" IS NOT DISTINCT FROM limit_;
        EXIT WHEN ticket IS NOT NULL OR look = 2;
        -- A cancel waits for the grant or the ticket of this call. This call may wait here for an
        -- earlier one, whose reply was lost: then its ticket is there now.
        PERFORM pg_catalog.pg_advisory_xact_lock({owner_key_of owner});
    END LOOP;
    -- an owner has one request: another ticket, or a lease in another mode, is an error
    SELECT pg_catalog.bool_or(l.mode <> attempt.mode OR l."limit" IS DISTINCT FROM limit_) AS other
      INTO turn FROM {leases_named attempt.name COLLATE "C"} l WHERE l.owner = attempt.owner;
    IF turn.other
       OR ticket IS NULL AND EXISTS (SELECT FROM rowlock.waiter w WHERE w.owner = attempt.owner)
        THEN
        RAISE EXCEPTION 'rowlock: this owner has requested another lease' USING ERRCODE = '22023',
            HINT = 'Draw a random owner for each lease, such as gen_random_uuid()::text.';
    END IF;
    -- an earlier call, whose reply was lost, may have acquired the lease although there is a ticket
    IF ticket IS NULL OR turn.other IS NOT NULL THEN
        SELECT g.status, g.token INTO status, token
          FROM rowlock.try_grant(name, mode, limit_, owner, ttl_ms, 0, coalesce(ticket, 0), host,
                                 pid, program, note) g;
        IF status = 0 THEN
            RETURN;
        END IF;
    END IF;
    IF ticket IS NULL THEN
        BEGIN
            SELECT e.status, e.number, e.detail INTO status, ticket, found_detail
              FROM rowlock.enqueue(ARRAY[name], ARRAY[mode], ARRAY[limit_], ARRAY[1], owner, 0,
                                   7000, host, pid, program, note) e;
        EXCEPTION WHEN lock_not_available THEN
            status := 12; -- a transaction ends the lease: the next call queues
        END;
        IF status = 13 THEN
            RAISE EXCEPTION 'rowlock: permits of "%": %', name, found_detail
                USING ERRCODE = '22023';
        END IF;
    ELSE -- it has queued
        SELECT * INTO turn FROM rowlock.wait_turn(ticket, until);
        IF turn.is_next THEN
            -- a call that does not wait does so for the name lock, as every try does; in one wait,
            -- because short tries starve behind others' locks
            SELECT g.status, g.token INTO status, token
              FROM rowlock.try_grant(name, mode, limit_, owner,
                       CASE WHEN turn.waited THEN short_ms ELSE ttl_ms END, 0, ticket, host, pid,
                       program, note) g;
            IF status = 1 THEN
                turn.waited := true;
                SELECT g.status, g.token INTO status, token
                  FROM rowlock.try_grant(name, mode, limit_, owner, short_ms,
                           greatest(250, ({in_ms until - pg_catalog.clock_timestamp()})::bigint),
                           ticket, host, pid, program, note) g;
            END IF;
            token := CASE WHEN NOT turn.waited THEN token END;
            IF status = 0 THEN
                place := 0;
                RETURN;
            END IF;
        ELSIF turn.dead IS NOT NULL THEN
            PERFORM rowlock.remove_dead(turn.dead);
        END IF;
    END IF;
    SELECT * INTO spot FROM rowlock.place(ticket, 0, 7000);
    status := spot.status;
    place := spot.before + 1;
    IF status = 13 THEN
        RAISE EXCEPTION 'rowlock: permits of "%": %', name, spot.detail USING ERRCODE = '22023';
    ELSIF status = 12 THEN -- the next call queues again
        ticket := NULL;
        place := NULL;
    ELSIF status = 11 AND spot.free = 1 THEN
        PERFORM rowlock.visit(ticket, spot.number, spot.before,
            greatest(250, least(2000, ({in_ms until - pg_catalog.clock_timestamp()})::bigint)));
    ELSE
        UPDATE rowlock.waiter w SET visit_at = NULL
         WHERE w.ticket = attempt.ticket AND w.visit_at IS NOT NULL;
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
    idle constant text := rowlock.check_call(name COLLATE "default", owner);
    commit_ constant text := pg_catalog.current_setting('synchronous_commit');
    answer record;
BEGIN
    PERFORM rowlock.check_about(host, program, note);
    SELECT * INTO answer FROM rowlock.attempt(
        name COLLATE "default", owner COLLATE "default",
        rowlock.check_terms(name, ttl, mode, limit_),
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
        PERFORM pg_catalog.pg_advisory_xact_lock({owner_key_of owner});
    END LOOP;
    IF waiting IS NOT NULL THEN
        PERFORM rowlock.withdraw(waiting, owner, 0);
        PERFORM pg_catalog.set_config('synchronous_commit', commit_, true);
    END IF;
    -- read only now: the withdrawal waited for a grant in progress
    held := (SELECT pg_catalog.max(l.token) FROM {leases_named cancel.name COLLATE "C"} l
              WHERE l.owner = cancel.owner COLLATE "default");
    RETURN CASE WHEN held IS NULL THEN waiting IS NOT NULL ELSE rowlock.end_lease(held) END;
END $$;
COMMENT ON FUNCTION rowlock.cancel(text, text) IS
    'Ends a request: leaves the queue, or releases the lease if it was granted. Returns whether '
    'there was one.';
