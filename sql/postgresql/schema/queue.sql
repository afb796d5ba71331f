-- SPDX-License-Identifier: Apache-2.0
-- The queue for leases: first come, first served per name, whatever the mode. A ticket has one row
-- per name, and while it exists the name has a row that only functions change: a gate, or a lease
-- that is `queued`. Session locks wake the next waiter: each waiter holds that of its ticket, each
-- holder that of its token. They are hints; the rows decide. A row may look dead only if its waiter
-- is dead: so a waiter takes the session lock before it commits the row, and releases it after the
-- row is deleted. The library knows which session locks its session has (`session`: the id of the
-- session, if it has the lock, or is to take it; behind a pooler it is not that of this session).
--
-- A bitmap scan, which a planner that expects few rows prefers to the order of the key, would read
-- the whole queue of a name before its first row.

-- Deletes a ticket of a dead waiter: its alive_until has passed, or its session lock is free.
-- Returns whether the ticket is gone. Waits for no lock: another session that has a row locked may
-- be that of the waiter, which is reporting now.
CREATE FUNCTION rowlock.remove_dead(ticket bigint) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    DELETE FROM rowlock.waiter d
     USING (SELECT w.name FROM rowlock.waiter w
             WHERE w.ticket = remove_dead.ticket
               AND CASE WHEN w.alive_until IS NULL
                        THEN pg_catalog.pg_try_advisory_xact_lock_shared(
                                 {session_key_of remove_dead.ticket})
                        ELSE w.alive_until <= pg_catalog.clock_timestamp() END
               FOR UPDATE SKIP LOCKED) dead
     WHERE d.name = dead.name AND d.ticket = remove_dead.ticket;
    RETURN NOT EXISTS (SELECT FROM rowlock.waiter w WHERE w.ticket = remove_dead.ticket);
END $$;

-- See dialect.h, enqueue. The ticket is drawn under the locks of the names' rows, so its number is
-- greater than `served` of each. A transaction may have one locked that ends the lease: then the
-- caller repeats the call; before deadlock_timeout, because that transaction may wait for a lock of
-- the caller's. One statement locks the rows and inserts the ticket, so it is planned before it has
-- the locks that all others wait for; so is the drawing of numbers: `before` is drawn first.
-- The rows need not survive a crash of the server, which ends all waiters. The first call of a
-- session with session locks rehearses what the waiter will do between two holders, its turn and
-- its release, so that their statements are planned by then: as the library calls them, because the
-- server compiles a function for each collation of its arguments.
CREATE FUNCTION rowlock.enqueue(
    names text[], modes text[], limits integer[], counts integer[], owner text, session bigint,
    good_ms bigint, host text, pid bigint, command text, note text,
    OUT status integer, OUT name text, OUT token bigint, OUT number bigint, OUT detail text)
LANGUAGE plpgsql VOLATILE SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
SET lock_timeout = '900ms' AS $$
DECLARE
    before constant bigint := rowlock.next_number(); -- no ticket up to it waits
    want record;
BEGIN
    IF session = pg_catalog.pg_backend_pid()
       AND pg_catalog.current_setting('rowlock.rehearsed', true) IS DISTINCT FROM 'yes' THEN
        PERFORM rowlock.turn('' COLLATE "C", '', 0, 0, 0, 0, '', 0, '', '', -1, 0),
                rowlock.end_lease(0, '' COLLATE "C", ''),
                pg_catalog.set_config('rowlock.rehearsed', 'yes', false);
    END IF;
    PERFORM pg_catalog.set_config('synchronous_commit', 'off', true);
    -- the index has the default collation; the arguments have that of convert_from
    DELETE FROM rowlock.waiter w WHERE w.owner = enqueue.owner COLLATE "default";
    FOR want IN SELECT * FROM {each_want} ORDER BY u.name COLLATE "C" LOOP
        PERFORM rowlock.check_use(want.name);
        IF want.mode = 'permit' THEN
            SELECT k.status, k.detail INTO status, detail
              FROM rowlock.look(want.name, want.mode, want."limit", want."count", 0, true) k;
            IF status = 13 THEN
                name := want.name;
                RETURN;
            END IF;
        END IF;
    END LOOP;
    LOOP -- again if a name has moved meanwhile
        WITH gate AS (
            INSERT INTO rowlock.lease AS l (name, n, token, mode, expires, acquired, queued, served,
                                            least)
            SELECT u.name, {generation_of u.name COLLATE "C"}, 0, 'gate', '-infinity', {own_now},
                   true, before, before
              FROM {each_want}
             ORDER BY u.name COLLATE "C"
                ON CONFLICT ON CONSTRAINT lease_pkey
                DO UPDATE SET queued = true,
                              served = CASE WHEN l.queued THEN l.served ELSE excluded.served END
                 WHERE l.token >= 0
            RETURNING l.n),
        drawn AS MATERIALIZED (
            SELECT CASE WHEN pg_catalog.count(*) = pg_catalog.cardinality(names)
                        THEN rowlock.next_number() END AS number FROM gate),
        locked AS MATERIALIZED (
            SELECT d.number, session = pg_catalog.pg_backend_pid()
                             AND pg_catalog.pg_try_advisory_lock({session_key_of d.number}) AS own
              FROM drawn d WHERE d.number IS NOT NULL),
        queued AS (
            INSERT INTO rowlock.waiter (ticket, name, mode, "limit", "count", owner, host, pid,
                                        command, note, alive_until)
            SELECT d.number, u.name, u.mode, u."limit", u."count", enqueue.owner, enqueue.host,
                   enqueue.pid, enqueue.command, enqueue.note,
                   CASE WHEN NOT d.own THEN {now} + {interval good_ms} END
              FROM locked d, {each_want})
        SELECT d.number INTO number FROM locked d;
        --@
        EXIT WHEN FOUND;
    END LOOP;
    status := 0;
END $$;

-- See dialect.h, place. Records that the waiter lives, and answers a roll call. Looks backwards at
-- 17 tickets, so a look behind a thousand waiters costs as much: a waiter with a session lock needs
-- no exact position. One without polls, the less often the farther back it is, up to 300: there its
-- pauses stop growing (PAUSE_MAX_MS / STEP_MS in lease/machine); with more than 16 ahead it looks
-- shortly, because the waiters ahead see to the dead ones and to the lease.
CREATE FUNCTION rowlock.place(ticket bigint, session bigint, good_ms bigint,
                              OUT status integer, OUT number bigint, OUT before bigint,
                              OUT free integer, OUT expires_ms bigint, OUT locked integer,
                              OUT name text, OUT detail text)
LANGUAGE plpgsql VOLATILE
SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    own record;
    way record;
    each record;
    far bigint := 0;
    ahead bigint;
BEGIN
    before := 0;
    expires_ms := 0;
    free := 1;
    locked := 0;
    status := 12;
    FOR own IN SELECT w.* FROM rowlock.waiter w WHERE w.ticket = place.ticket ORDER BY w.name LOOP
        status := CASE WHEN status = 12 THEN 0 ELSE status END;
        locked := (own.alive_until IS NULL AND session = pg_catalog.pg_backend_pid())::integer;
        IF locked = 0 OR own.roll_call IS NOT NULL THEN
            PERFORM pg_catalog.set_config('synchronous_commit', 'off', true);
            UPDATE rowlock.waiter w
               SET roll_call = NULL, alive_until = CASE WHEN locked = 0
                       THEN pg_catalog.clock_timestamp() + {interval good_ms} END
             WHERE w.name = own.name AND w.ticket = place.ticket;
        END IF;
        IF locked = 0 THEN
            SELECT pg_catalog.count(*) AS before, (pg_catalog.array_agg(q.ticket))[1] AS ticket,
                   (pg_catalog.array_agg(q.alive_until))[1] AS alive_until INTO each
              FROM (SELECT w.ticket, w.alive_until FROM rowlock.waiter w
                     WHERE w.name = own.name AND (w.name, w.ticket) < (own.name, place.ticket)
                     ORDER BY w.ticket DESC LIMIT 300) q;
            far := each.before;
            IF far > 16 AND each.alive_until > pg_catalog.clock_timestamp() THEN
                status := 11;
                number := greatest(number, each.ticket);
                name := own.name;
                before := greatest(before, far);
                free := 0;
                CONTINUE;
            END IF;
        END IF;
        ahead := 0;
        FOR each IN SELECT w.ticket, w.alive_until FROM rowlock.waiter w
                     WHERE w.name = own.name AND (w.name, w.ticket) < (own.name, place.ticket)
                     ORDER BY w.ticket DESC LIMIT 17 LOOP
            IF each.alive_until <= pg_catalog.clock_timestamp() THEN -- else it is not called at all
                CONTINUE WHEN rowlock.remove_dead(each.ticket);
            END IF;
            ahead := ahead + 1;
            IF each.ticket > coalesce(number, 0) OR status <> 11 THEN
                status := CASE WHEN status = 13 THEN 13 ELSE 11 END;
                number := greatest(number, each.ticket);
                name := own.name;
            END IF;
        END LOOP;
        before := greatest(before, CASE WHEN ahead < 17 THEN ahead ELSE greatest(far, ahead) END);
        SELECT k.* INTO way FROM rowlock.look(own.name, own.mode, own."limit", own."count",
                                              place.ticket, true) k;
        IF way.status <> 0 THEN
            free := 0;
        END IF;
        IF way.status = 13 OR way.status = 3 AND status = 0 THEN
            status := way.status;
            number := way.number;
            name := own.name;
            detail := way.detail;
            expires_ms := greatest(0, pg_catalog.ceil(
                {in_ms coalesce(way.expires, '-infinity') - pg_catalog.clock_timestamp()}));
        END IF;
    END LOOP;
END $$;

-- See dialect.h, await. A statement waits at most 30 s, because it holds vacuum back, and less than
-- statement_timeout. It takes the lock in shared mode, so that any number of sessions may wait, and
-- as a transaction lock, so that a cancel leaves nothing on the session. Every 3 s it looks at the
-- rows: of a lease that another session has ended, the session lock remains.
CREATE FUNCTION rowlock.await(kind integer, number bigint, limit_ms bigint, ticket bigint)
RETURNS integer LANGUAGE plpgsql VOLATILE SET exit_on_error = off AS $$
DECLARE
    key constant bigint := {session_key_of number};
    left_ms bigint := CASE WHEN limit_ms > 0 THEN {slice limit_ms} ELSE 0 END;
BEGIN
    WHILE NOT pg_catalog.pg_try_advisory_xact_lock_shared(key) LOOP
        IF left_ms <= 0 OR EXISTS (SELECT FROM rowlock.waiter w
                                    WHERE w.ticket = await.ticket AND w.roll_call IS NOT NULL) THEN
            RETURN 0;
        END IF;
        BEGIN
            PERFORM pg_catalog.set_config('lock_timeout', least(left_ms, 3000)::text, true);
            PERFORM pg_catalog.pg_advisory_xact_lock_shared(key);
            EXIT;
        EXCEPTION
            WHEN lock_not_available THEN
                left_ms := left_ms - 3000;
                EXIT WHEN left_ms > 0
                    AND NOT EXISTS (SELECT FROM rowlock.lease l
                                     WHERE l.token = await.number AND l.token > 0)
                    AND NOT EXISTS (SELECT FROM rowlock.waiter w WHERE w.ticket = await.number);
            WHEN deadlock_detected THEN
                RETURN 0;
        END;
    END LOOP;
    IF kind = 0 THEN
        DELETE FROM rowlock.waiter w WHERE w.ticket = await.number AND w.alive_until IS NULL;
    END IF;
    RETURN 1;
END $$;

-- See dialect.h, turn. Waits until the ticket directly ahead (kind 0), or the conflicting token
-- (1), releases its session lock; after a ticket also, up to a second, until the lease ends. Then
-- it grants. It changes nothing unless it acquires the lease. With kind -1 it executes each
-- statement of the usual case once, without effect.
CREATE FUNCTION rowlock.turn(name text, owner text, ttl_ms bigint, limit_ms bigint, ticket bigint,
                             session bigint, host text, pid bigint, command text, note text,
                             kind integer, awaited bigint,
                             OUT status integer, OUT found_name text, OUT token bigint,
                             OUT number bigint, OUT detail text)
LANGUAGE plpgsql VOLATILE
SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    left_ms constant bigint := {slice limit_ms};
    until constant timestamptz := {after left_ms};
    ahead record;
    cur rowlock.lease;
    waiting_ms bigint;
    quiet timestamptz;
BEGIN
    status := 2;
    number := awaited;
    IF rowlock.await(1, awaited, limit_ms, ticket) = 0 THEN
        RETURN;
    ELSIF kind <= 0 THEN
        SELECT w.ticket INTO number FROM rowlock.waiter w
         WHERE w.name = turn.name COLLATE "C" AND (w.name, w.ticket) < (turn.name COLLATE "C",
                                                                        turn.ticket)
         ORDER BY w.ticket DESC LIMIT 1;
        IF FOUND THEN
            status := 11;
            RETURN;
        END IF;
        SELECT l.token, ({in_ms least(l.expires, until) - pg_catalog.clock_timestamp()})::bigint
                   AS left_ms INTO ahead
          FROM {leases_named turn.name COLLATE "C"} l ORDER BY l.expires LIMIT 1;
        number := ahead.token;
        IF FOUND AND rowlock.await(1, number, least(ahead.left_ms, 1000), ticket) = 0 THEN
            RETURN;
        END IF;
    END IF;
    {durable};
    -- the usual case: a gate without members, and no ticket ahead; else grant_lease decides
    IF (CASE WHEN session = pg_catalog.pg_backend_pid() AND {read_committed}
             THEN pg_catalog.pg_try_advisory_xact_lock({key_of name}) ELSE kind < 0 END) THEN
        PERFORM pg_catalog.set_config('idle_in_transaction_session_timeout', '2000', true)
          WHERE kind >= 0;
        SELECT * INTO cur FROM rowlock.lease l
         WHERE l.name = turn.name COLLATE "C" AND l.n = {generation_of turn.name COLLATE "C"}
           AND l.token = 0
           -- else grant_lease sweeps first, and locks the gates of several names in their order
           AND NOT EXISTS (SELECT FROM rowlock.lease m WHERE m.name = l.name AND m.n > l.least)
           FOR UPDATE SKIP LOCKED;
        --@
        SELECT {waited_since w.since} INTO waiting_ms FROM rowlock.waiter w
         WHERE w.name = cur.name AND w.ticket = turn.ticket AND w.alive_until IS NULL;
        IF FOUND OR kind < 0 THEN
            token := CASE WHEN kind >= 0 THEN rowlock.next_number() END;
            quiet := {quiet_after waiting_ms};
            UPDATE rowlock.lease l SET alone = true, {lease_from_gate turn}
               AND NOT EXISTS (SELECT FROM rowlock.lease m
                                WHERE m.name = cur.name AND m.n > cur.least)
               AND NOT EXISTS (SELECT FROM rowlock.waiter w
                                WHERE w.name = cur.name AND w.ticket > cur.served
                                  AND w.ticket < turn.ticket)
               AND pg_catalog.mod(turn.token, 61::bigint) <> 0::bigint;
            --@
            IF FOUND OR kind < 0 THEN
                DELETE FROM rowlock.waiter w
                 WHERE w.name = cur.name AND w.ticket = turn.ticket;
                PERFORM pg_catalog.pg_try_advisory_lock({session_key_of token}),
                        pg_catalog.pg_advisory_xact_lock({session_key_of ticket}),
                        pg_catalog.pg_advisory_unlock({session_key_of ticket})
                  WHERE kind >= 0;
                status := 0;
                RETURN;
            END IF;
        END IF;
    END IF;
    SELECT g.status, g.token, g.number, g.detail INTO status, token, number, detail
      FROM rowlock.grant_lease(ARRAY[turn.name], ARRAY['exclusive'], ARRAY[NULL::integer],
               ARRAY[1], owner, ttl_ms,
               greatest(1, least(1000, ({in_ms until - pg_catalog.clock_timestamp()})::bigint)),
               ticket, session, host, pid, command, note) g;
    status := CASE WHEN status = 2 THEN 1 ELSE status END;
END $$;

-- See dialect.h, overtake. A live waiter clears its roll call at its next look. A later roll call
-- is another caller's, and too recent. A waiter of another name too may be blocked by the name lock
-- of that: then it cannot answer, without being frozen.
CREATE FUNCTION rowlock.overtake(ticket bigint, roll_call bigint, limit_ms bigint)
RETURNS bigint LANGUAGE plpgsql VOLATILE SET exit_on_error = off AS $$
DECLARE
    number bigint := roll_call;
    names constant text[] := ARRAY(SELECT w.name FROM rowlock.waiter w
                                    WHERE w.ticket = overtake.ticket ORDER BY w.name);
    modes constant text[] := ARRAY(SELECT w.mode FROM rowlock.waiter w
                                    WHERE w.ticket = overtake.ticket ORDER BY w.name);
    each record;
BEGIN
    PERFORM pg_catalog.set_config('synchronous_commit', 'off', true);
    IF names = '{}' OR (SELECT k.status FROM rowlock.lock_names(names, modes, ticket::text, false,
                                                 {after limit_ms}) k) <> 0
       OR EXISTS (SELECT FROM rowlock.waiter w,
                      LATERAL rowlock.look(w.name, w.mode, w."limit", w."count", w.ticket, true) k
                   WHERE w.ticket = overtake.ticket AND k.status <> 0) THEN
        RETURN 0;
    ELSIF roll_call = 0 THEN
        number := rowlock.next_number();
    END IF;
    FOR each IN SELECT e.name, e.ticket
                  FROM pg_catalog.unnest(names) u (name)
                  JOIN rowlock.waiter e ON e.name = u.name COLLATE "C"
                 WHERE (e.name, e.ticket) < (u.name COLLATE "C", overtake.ticket)
                   AND CASE WHEN overtake.roll_call = 0 THEN e.roll_call IS NULL
                            ELSE e.roll_call <= overtake.roll_call END
                   FOR UPDATE OF e SKIP LOCKED LOOP
        IF roll_call = 0 THEN
            UPDATE rowlock.waiter w SET roll_call = number
             WHERE w.name = each.name AND w.ticket = each.ticket;
        ELSIF NOT EXISTS (SELECT FROM rowlock.waiter w
                           WHERE w.ticket = each.ticket AND w.name <> ALL (names)
                             AND NOT pg_catalog.pg_try_advisory_xact_lock({key_of w.name})) THEN
            DELETE FROM rowlock.waiter w WHERE w.ticket = each.ticket;
        END IF;
    END LOOP;
    RETURN number;
EXCEPTION WHEN deadlock_detected OR lock_not_available THEN
    RETURN 0;
END $$;

-- See dialect.h, withdraw. The gate stays until the next grant by function, or a vacuum. Below
-- level all a wait under a second leaves no row in the history, because the caller may try again.
CREATE FUNCTION rowlock.withdraw(ticket bigint, owner text, session bigint) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM pg_catalog.set_config('synchronous_commit', 'off', true);
    PERFORM rowlock.log(w.name, w.mode, w."count", NULL, w.host, w.pid, w.command, w.note, NULL,
                greatest(0, ({in_ms pg_catalog.clock_timestamp() - w.since})::bigint),
                pg_catalog.clock_timestamp(), 'gave up')
       FROM rowlock.waiter w
      WHERE w.owner = withdraw.owner COLLATE "default" AND withdraw.ticket IN (0, w.ticket);
    DELETE FROM rowlock.waiter w
     WHERE w.owner = withdraw.owner COLLATE "default" AND withdraw.ticket IN (0, w.ticket);
    IF session = pg_catalog.pg_backend_pid() THEN
        PERFORM pg_catalog.pg_advisory_xact_lock({session_key_of ticket}),
                pg_catalog.pg_advisory_unlock({session_key_of ticket});
    END IF;
END $$;

-- Lists holders and waiters of one name or (NULL) of all names, without dead ones. The server shows
-- only the key of a transaction's lock: of all names, it finds only those that some table contains.
CREATE FUNCTION rowlock.list(name text)
RETURNS TABLE (state text, lock_name text, mode text, token bigint, ticket bigint, owner text,
               host text, pid bigint, command text, note text, since_ms bigint, expires_ms bigint,
               left_ms bigint, "limit" integer,
               "count" integer, stop boolean)
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN QUERY
        SELECT 'held', l.name::text, l.mode, l.token, 0::bigint, l.owner, l.host, l.pid, l.command,
               l.note, ({in_ms l.acquired})::bigint, ({in_ms l.expires})::bigint,
               ({in_ms l.expires - pg_catalog.clock_timestamp()})::bigint, l."limit", l."count",
               l.stop
          FROM (SELECT o.* FROM rowlock.lease o
                 WHERE list.name IS NULL OR o.name = list.name COLLATE "C" OFFSET 0) l
         WHERE l.token > 0 AND l.expires > pg_catalog.clock_timestamp()
         ORDER BY l.name, l.token;
    RETURN QUERY
        WITH locked AS MATERIALIZED ({transactions})
        SELECT 'transaction', k.name COLLATE "default", t.mode, 0::bigint, 0::bigint, NULL::text,
               t.host, t.pid::bigint, t.program, NULL::text, ({in_ms t.since})::bigint,
               NULL::bigint, NULL::bigint, NULL::integer, 1, false
          FROM locked t
          JOIN LATERAL (SELECT list.name AS name WHERE t.key = rowlock.key(list.name)
                        UNION ALL
                        SELECT n.name FROM rowlock.names n
                         WHERE list.name IS NULL AND n.key = t.key) k ON true
         WHERE t.pid <> pg_catalog.pg_backend_pid()
         ORDER BY 2, t.since, t.pid;
    RETURN QUERY
        WITH session_locked AS MATERIALIZED (
            SELECT k.classid::bigint << 32 | k.objid::bigint AS key FROM pg_catalog.pg_locks k
             WHERE {advisory_lock k} AND k.granted)
        SELECT 'waiting', w.name::text, w.mode, 0::bigint, w.ticket, w.owner, w.host, w.pid,
               w.command, w.note, ({in_ms w.since})::bigint, NULL::bigint, NULL::bigint, w."limit",
               w."count", false
          FROM (SELECT o.* FROM rowlock.waiter o
                 WHERE list.name IS NULL OR o.name = list.name COLLATE "C" OFFSET 0) w
         WHERE CASE WHEN w.alive_until IS NOT NULL THEN w.alive_until > pg_catalog.clock_timestamp()
                    ELSE {session_key_of w.ticket} IN (SELECT m.key FROM session_locked m) END
         ORDER BY w.name, w.ticket;
END $$;
