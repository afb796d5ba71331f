-- SPDX-License-Identifier: Apache-2.0
-- Leases: grant, renew, end, break, and the fence. An exclusive lease conflicts with every other; a
-- shared one with all except shared ones; a permit with exclusive and shared ones, and with permits
-- beyond the limit.
--
-- A lease of a free name is granted by one INSERT, and ended by one DELETE (grant_free.sql,
-- release_free.sql); these functions decide the other cases. A grant holds the name locks of its
-- names until it commits. No session ignores a lease because its expiry time has passed: it deletes
-- the lease first, on condition that it has expired. A row that remains is a conflict, because its
-- renewal may be in progress. Each end locks the row FOR UPDATE before, and so waits for fences.
--
-- The order of locks: name locks by key; the rows of the names by name; then tickets. Leases that
-- have expired are ended before, in the order of their tokens.

-- Rows of others: of a restore, a replication, or a user. A lease is put where every search finds
-- it: an exclusive one at the present generation of its name, where the unique key refuses it if
-- the name is taken; a member above a gate. Gates and marks of another time mean nothing. The
-- numbers rise above a token that this server has not drawn.
CREATE FUNCTION rowlock.see_foreign() RETURNS trigger LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF NEW.token <= 0 THEN
        RETURN NULL;
    ELSIF NOT {read_committed} THEN -- its snapshot may be older than the last move of the name
        RAISE EXCEPTION
            'rowlock: cannot insert a lease of "%" in a transaction at %', NEW.name,
                        pg_catalog.upper(pg_catalog.current_setting('transaction_isolation'))
            USING ERRCODE = 'RL001',
                HINT = 'Insert or restore it at READ COMMITTED: SET default_transaction_isolation '
                '= ''read committed'';';
    ELSIF NEW.token > coalesce(pg_catalog.pg_sequence_last_value('rowlock.number'), 0::bigint) THEN
        PERFORM rowlock.next_number(NEW.token);
    END IF;
    IF NEW.n <= 0 AND NEW.mode = 'exclusive' THEN
        NEW.n := {generation_of NEW.name};
        RETURN NEW;
    END IF;
    NEW.n := NEW.token;
    LOOP
        INSERT INTO rowlock.lease AS l (name, n, token, mode, expires, acquired, least)
        VALUES (NEW.name, {generation_of NEW.name}, 0, 'gate', '-infinity', {own_now}, NEW.n - 1)
            ON CONFLICT ON CONSTRAINT lease_pkey
            DO UPDATE SET least = least(l.least, NEW.n - 1) WHERE l.token = 0;
        EXIT WHEN FOUND;
        IF EXISTS (SELECT FROM {leases_named NEW.name} l WHERE l.n <= 0) THEN
            RAISE EXCEPTION 'rowlock: "%" is leased exclusively', NEW.name USING ERRCODE = '23505';
        END IF;
    END LOOP;
    RETURN NEW;
END $$;
-- ALWAYS: also for a session with session_replication_role = replica. After ENABLE TRIGGER ALL,
-- which pg_restore --disable-triggers runs, it would not act for a replication: then an install
-- creates it again.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_trigger t
                    WHERE t.tgrelid = 'rowlock.lease'::regclass::oid
                      AND t.tgname = 'see_foreign' AND t.tgenabled = 'A'::"char") THEN
        DROP TRIGGER IF EXISTS see_foreign ON rowlock.lease;
        CREATE TRIGGER see_foreign BEFORE INSERT ON rowlock.lease
            FOR EACH ROW WHEN (NEW.acquired <= pg_catalog.statement_timestamp()
                               OR pg_catalog.current_setting('session_replication_role')
                                  = 'replica')
            EXECUTE FUNCTION rowlock.see_foreign();
        ALTER TABLE rowlock.lease ENABLE ALWAYS TRIGGER see_foreign;
    END IF;
END $$;

-- Looks for leases of one name that conflict with a lease of that mode; a lock is like a lease,
-- exclusive or shared. 0: none, or only expired ones; 3: `number` is the token of the live one that
-- is the first to expire; 13: permits with another limit are held, or waited for ahead of the
-- ticket (0: by any). by_clock false: every row counts, because a row that survived a sweep may be
-- renewed.
CREATE FUNCTION rowlock.look(name text, mode text, limit_ integer, count_ integer, ticket bigint,
                             by_clock boolean, OUT status integer, OUT number bigint,
                             OUT expires timestamptz, OUT detail text)
LANGUAGE plpgsql VOLATILE SET enable_bitmapscan = off AS $$
DECLARE
    found_ record;
BEGIN
    SELECT pg_catalog.count(*) FILTER (WHERE NOT l.alike) AS others,
           coalesce(pg_catalog.sum(l."count") FILTER (WHERE l.alike), 0) AS permits,
           pg_catalog.max(l."limit") FILTER (WHERE l."limit" <> limit_) AS other_limit,
           pg_catalog.min(l.expires) FILTER (WHERE l.live) AS expires,
           (pg_catalog.array_agg(l.token ORDER BY l.live DESC, l.expires, l.token))[1] AS token
      INTO found_
      FROM (SELECT o.token, o.expires, o."count", o."limit",
                   o.expires > pg_catalog.clock_timestamp() AS live,
                   look.mode = 'permit' AND o.mode = 'permit' AS alike
              FROM {leases_named look.name COLLATE "C"} o
             WHERE NOT (look.mode = 'shared' AND o.mode = 'shared')
               AND (NOT by_clock OR o.expires > pg_catalog.clock_timestamp())) l;
    status := 0;
    IF found_.other_limit IS NOT NULL THEN
        status := 13;
        detail := pg_catalog.format('it is held with limit %s, but limit %s was requested',
                                    found_.other_limit, limit_);
    ELSIF found_.others > 0 OR mode = 'permit' AND found_.permits + count_ > limit_ THEN
        status := 3;
        number := found_.token;
        expires := found_.expires;
    END IF;
    IF status <> 13 AND mode = 'permit' THEN
        SELECT w."limit" INTO found_ FROM rowlock.waiter w
         WHERE w.name = look.name COLLATE "C" AND w."limit" <> limit_
           AND (look.ticket = 0 OR w.ticket < look.ticket)
           AND (w.alive_until IS NULL OR w.alive_until > pg_catalog.clock_timestamp()) LIMIT 1;
        IF FOUND THEN
            status := 13;
            detail := pg_catalog.format('it is waited for with limit %s, but limit %s was '
                                        'requested', found_."limit", limit_);
        END IF;
    END IF;
END $$;

-- The end of a lease ------------------------------------------------------------------------------

-- Ends the lease of this token, all its rows: returns true. False: it had ended, has another name
-- or owner (NULL: any), or (only_expired) has not expired. Of a lease that waiters queue for a gate
-- remains. Writes the history. session_ has the session lock of the token, and releases it when the
-- transaction has ended, and not earlier: the session that it wakes must see the committed changes.
-- So the lock becomes a transaction lock, which the server releases after the rows are visible.
-- With the token 0 it ends nothing, but executes the statements of a lease with waiters (enqueue).
CREATE FUNCTION rowlock.end_lease(token bigint, name text DEFAULT NULL, owner text DEFAULT NULL,
                                  only_expired boolean DEFAULT false, revoke boolean DEFAULT false,
                                  session bigint DEFAULT 0) RETURNS boolean
LANGUAGE plpgsql VOLATILE
SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    each record;
    cur rowlock.lease;
    gate rowlock.lease;
    ended boolean := false;
    more boolean; -- whether others wait for it
    now_ timestamptz;
BEGIN
    FOR each IN SELECT l.name, l.n FROM rowlock.lease l
                 WHERE l.token = end_lease.token AND l.token > 0
                   AND (end_lease.name IS NULL OR EXISTS (
                        SELECT FROM rowlock.lease o
                         WHERE o.token = end_lease.token AND o.token > 0
                           AND o.name COLLATE "default" = end_lease.name
                           AND (end_lease.owner IS NULL OR o.owner = end_lease.owner)))
                 UNION ALL SELECT NULL, 0 WHERE end_lease.token = 0
                 ORDER BY 1 LOOP
        gate := NULL;
        WHILE each.n > 0 LOOP -- a grant of a member locks the gate before the members
            SELECT * INTO gate FROM rowlock.lease l
             WHERE l.name = each.name AND l.n = {generation_of each.name} AND l.token = 0
               FOR UPDATE;
            EXIT WHEN (SELECT r.n FROM rowlock.lease r WHERE r.name = each.name AND r.token = 0
                        ORDER BY r.n LIMIT 1) IS NOT DISTINCT FROM gate.n;
        END LOOP;
        SELECT * INTO cur FROM rowlock.lease l
         WHERE l.name = each.name AND l.n = each.n AND l.token = end_lease.token
           AND (NOT only_expired OR l.expires <= pg_catalog.clock_timestamp()) FOR UPDATE;
        --@
        EXIT WHEN NOT FOUND AND token <> 0;
        ended := token <> 0;
        now_ := pg_catalog.clock_timestamp();
        cur.stop := cur.stop OR revoke AND cur.expires > now_;
        IF token = 0 OR cur.stop OR cur.quiet_until <= now_ OR cur.expires <= now_ THEN
            PERFORM rowlock.log(cur.name, cur.mode, cur."count", cur.token, cur.host, cur.pid,
                cur.command, cur.note, cur.acquired, cur.waited, least(now_, cur.expires),
                CASE WHEN cur.stop THEN 'revoked' WHEN cur.expires > now_ THEN 'released'
                     ELSE 'expired' END);
        END IF;
        -- later statements: the row is locked, so no waiter queues between this look and the COMMIT
        more := cur.queued AND EXISTS (SELECT FROM rowlock.waiter w
                                        WHERE w.name = cur.name AND w.ticket > cur.served);
        IF more OR token = 0 THEN
            UPDATE rowlock.lease l
               SET token = 0, mode = 'gate', expires = '-infinity', owner = NULL, least = cur.token
             WHERE l.name = cur.name AND l.n = cur.n;
        END IF;
        IF more IS NOT TRUE THEN
            DELETE FROM rowlock.lease l WHERE l.name = cur.name AND l.n = cur.n;
            --@
            {close_gate};
        END IF;
    END LOOP;
    PERFORM pg_catalog.pg_advisory_xact_lock({session_key_of token}),
            pg_catalog.pg_advisory_unlock({session_key_of token})
      WHERE session = pg_catalog.pg_backend_pid();
    RETURN ended;
END $$;

-- The grant ---------------------------------------------------------------------------------------

-- Returns the generation at which a grant of this name inserts its rows: the present one, or a new
-- one, if the search for the row of the name takes much longer than that for a name without
-- leases: then it meets the dead entries of some hundred leases, which the server keeps while an
-- old snapshot is open. The fastest of three searches counts. The caller has the exclusive name
-- lock, and sees no lease at `at` (or has locked the gate there), and `token` was drawn by it: so a
-- generation is less than all before, and used once. Two rows: one at the old generation, on which
-- every statement fails that has not yet seen the new one; and one directly above the new
-- generation, where a search ends. NULL: another session has written a row at `at`.
CREATE FUNCTION rowlock.move(name text, at bigint, token bigint, gated boolean) RETURNS bigint
LANGUAGE plpgsql VOLATILE
SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    generation constant bigint := -2::bigint * token; -- even; the row above it is odd
    since timestamptz;
    fastest interval[] := ARRAY[interval '1 s', interval '1 s'];
BEGIN
    FOR attempt IN 1..6 LOOP
        since := pg_catalog.clock_timestamp();
        PERFORM FROM rowlock.lease l
          WHERE l.name = CASE WHEN attempt > 3 THEN move.name ELSE '' END COLLATE "C" AND l.n <= 0
          ORDER BY l.n LIMIT 1;
        fastest[attempt / 4 + 1] := least(fastest[attempt / 4 + 1],
                                          pg_catalog.clock_timestamp() - since);
    END LOOP;
    IF fastest[2] <= fastest[1] + fastest[1] + interval '15 us' THEN
        RETURN at;
    ELSIF gated THEN
        INSERT INTO rowlock.lease (name, n, token, mode, expires, acquired, queued, served, least)
        SELECT l.name, generation, 0, 'gate', '-infinity', {own_now}, l.queued, l.served, l.least
          FROM rowlock.lease l WHERE l.name = move.name COLLATE "C" AND l.n = move.at;
        UPDATE rowlock.lease l SET token = generation, mode = 'moved', queued = false
         WHERE l.name = move.name COLLATE "C" AND l.n = move.at;
    ELSE
        INSERT INTO rowlock.lease (name, n, token, mode, expires, acquired)
        VALUES (move.name, move.at, generation, 'moved', '-infinity', {own_now})
            ON CONFLICT ON CONSTRAINT lease_pkey DO NOTHING;
        IF NOT FOUND THEN
            RETURN NULL;
        END IF;
    END IF;
    --@
    INSERT INTO rowlock.lease (name, n, token, mode, expires, acquired)
    VALUES (move.name, generation + 1, generation, 'moved', '-infinity', {own_now});
    RETURN generation;
END $$;

-- Removes what rowlock.move has left, as far as no statement can need it: each statement that
-- writes a lease locks the table before it takes its snapshot, so with this lock none runs that
-- began before the moves which are seen here. The least mark of each name stays. Names whose last
-- move was a day ago are forgotten, some in each call, with the name lock, because functions look
-- before they lock the table. It waits for writers 20 ms at most, and others wait as long for it.
--
-- After a restore without triggers it repairs first what rowlock.see_foreign did not see: tokens
-- that were not drawn; leases that no search finds, which that trigger puts in their place now, or
-- which end if it is taken; and rows below 0 without their mark.
CREATE FUNCTION rowlock.tidy(before timestamptz) RETURNS void
LANGUAGE plpgsql VOLATILE SET lock_timeout = '20ms' SET exit_on_error = off AS $$
DECLARE
    hidden constant tid[] := ARRAY(
        SELECT l.ctid FROM rowlock.lease l
          LEFT JOIN LATERAL (SELECT r.n, r.token, r.least FROM rowlock.lease r
                              WHERE r.name = l.name AND r.n <= 0 ORDER BY r.n LIMIT 1) f ON true
         WHERE l.token > 0 AND CASE WHEN l.n <= 0 THEN f.n < l.n
                                    ELSE f.token IS DISTINCT FROM 0 OR l.n <= f.least END
         LIMIT 200);
    each rowlock.lease;
BEGIN
    IF (SELECT max(l.token) FROM rowlock.lease l WHERE l.token > 0)
       > pg_catalog.pg_sequence_last_value('rowlock.number') THEN
        PERFORM rowlock.next_number(max(l.token)) FROM rowlock.lease l WHERE l.token > 0;
    END IF;
    -- above READ COMMITTED the snapshot is older than the lock
    IF NOT {read_committed}
       OR hidden = '{}' AND NOT EXISTS (SELECT FROM rowlock.lease l
                                         WHERE l.token < 0 OR l.n < 0) THEN
        RETURN;
    END IF;
    PERFORM pg_catalog.set_config('synchronous_commit', 'off', true);
    LOCK TABLE rowlock.lease IN SHARE ROW EXCLUSIVE MODE;
    --@
    FOR each IN SELECT l.* FROM rowlock.lease l
                 WHERE l.ctid = ANY (hidden) AND l.token > 0
                   AND pg_catalog.pg_try_advisory_xact_lock({key_of l.name}) LOOP
        BEGIN
            DELETE FROM rowlock.lease l WHERE l.name = each.name AND l.n = each.n;
            INSERT INTO rowlock.lease SELECT each.*;
        EXCEPTION WHEN unique_violation THEN
            PERFORM rowlock.end_lease(each.token, revoke => true);
        END;
    END LOOP;
    INSERT INTO rowlock.lease (name, n, token, mode, expires, acquired)
    SELECT l.name, l.n + 1, l.n, 'moved', '-infinity', {own_now} FROM rowlock.lease l
     WHERE l.n < 0 AND l.token >= 0
        ON CONFLICT ON CONSTRAINT lease_pkey DO NOTHING;
    DELETE FROM rowlock.lease l
     USING (SELECT o.name, min(o.n) AS n FROM rowlock.lease o WHERE o.token < 0 GROUP BY o.name) k
     WHERE l.name = k.name AND l.n > k.n AND l.token < 0;
    DELETE FROM rowlock.lease l
     WHERE l.ctid = ANY (ARRAY(
        SELECT o.ctid FROM rowlock.lease o
         WHERE o.token < 0 AND o.acquired < before
           AND NOT EXISTS (SELECT FROM rowlock.lease m WHERE m.name = o.name AND m.n <> o.n)
         LIMIT 200))
       AND pg_catalog.pg_try_advisory_xact_lock({key_of l.name});
EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
    NULL;
END $$;

-- Grants one name of a lease, under its name lock: 0; 3 and 13 as rowlock.look; 11: `number` is the
-- ticket directly ahead; 12: the caller's ticket is gone. A caller without a ticket requires an
-- empty queue: it deletes dead tickets, because no waiter behind them would do so. Tickets whose
-- alive_until has passed are deleted in any case. A gate moves in one grant of 61, or if the search
-- for it was slow.
CREATE FUNCTION rowlock.take(name text, mode text, limit_ integer, count_ integer, token bigint,
                             alone boolean, owner text, ttl_ms bigint, ticket bigint, host text,
                             pid bigint, command text, note text,
                             OUT status integer, OUT number bigint, OUT detail text)
LANGUAGE plpgsql VOLATILE
SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    cur rowlock.lease;
    own rowlock.waiter;
    ahead record;
    at bigint;
    since timestamptz;
    slow boolean;
    waiting_ms bigint := 0;
    quiet timestamptz;
BEGIN
    LOOP
        since := pg_catalog.clock_timestamp();
        SELECT * INTO cur FROM rowlock.lease l
         WHERE l.name = take.name COLLATE "C" AND l.n <= 0 ORDER BY l.n LIMIT 1;
        slow := pg_catalog.clock_timestamp() - since > interval '3 ms';
        --@
        IF cur.token > 0 THEN
            status := 3;
            number := cur.token;
            RETURN;
        ELSIF cur.token IS NULL OR cur.token < 0 THEN
            at := coalesce(cur.token, 0);
            IF mode <> 'shared' OR pg_catalog.pg_try_advisory_xact_lock({key_of name}) THEN
                at := rowlock.move(name, at, token, false);
                CONTINUE WHEN at IS NULL;
            END IF;
            EXIT WHEN mode = 'exclusive' AND ticket = 0;
            INSERT INTO rowlock.lease (name, n, token, mode, expires, acquired, queued, served,
                                       least)
            VALUES (take.name, at, 0, 'gate', '-infinity', {own_now}, take.ticket <> 0,
                    CASE WHEN take.ticket = 0 THEN take.token ELSE 0 END,
                    take.token - 1)
                ON CONFLICT ON CONSTRAINT lease_pkey DO NOTHING;
            CONTINUE;
        END IF;
        -- a gate: locked first, so that no waiter queues between the look and the COMMIT
        SELECT * INTO cur FROM rowlock.lease l
         WHERE l.name = cur.name AND l.n = cur.n AND l.token = 0 FOR UPDATE;
        CONTINUE WHEN NOT FOUND;
        --@
        IF ticket <> 0 THEN
            SELECT * INTO own FROM rowlock.waiter w
             WHERE w.name = cur.name AND w.ticket = take.ticket;
            IF NOT FOUND THEN
                status := 12;
                RETURN;
            END IF;
            waiting_ms := {waited_since own.since};
        END IF;
        SELECT k.status, k.number, k.detail INTO status, number, detail
          FROM rowlock.look(name, mode, limit_, count_, ticket, false) k;
        IF status <> 0 THEN
            RETURN;
        END IF;
        FOR ahead IN SELECT w.ticket, w.alive_until FROM rowlock.waiter w
                      WHERE w.name = cur.name AND w.ticket > cur.served
                        AND (take.ticket = 0 OR w.ticket < take.ticket) ORDER BY w.ticket LOOP
            CONTINUE WHEN (take.ticket = 0 OR ahead.alive_until IS NOT NULL)
                AND rowlock.remove_dead(ahead.ticket);
            status := 11;
            number := (SELECT w.ticket FROM rowlock.waiter w
                        WHERE w.name = cur.name AND (take.ticket = 0 OR w.ticket < take.ticket)
                        ORDER BY w.ticket DESC LIMIT 1);
            RETURN;
        END LOOP;
        EXIT;
    END LOOP;
    quiet := {quiet_after waiting_ms};
    IF cur.token = 0 AND mode = 'exclusive' THEN
        IF slow OR pg_catalog.mod(token, 61::bigint) = 0::bigint THEN
            cur.n := rowlock.move(name, cur.n, token, true);
        END IF;
        UPDATE rowlock.lease l SET alone = take.alone, {lease_from_gate take};
        IF NOT FOUND THEN
            RAISE EXCEPTION 'rowlock: the row of "%" is gone', name USING ERRCODE = 'XX000';
        END IF;
    ELSE
        IF cur.token = 0 AND (ticket > 0 OR token <= cur.least
                              OR pg_catalog.mod(token, 61::bigint) = 0::bigint) THEN
            UPDATE rowlock.lease l
               SET served = greatest(l.served, take.ticket),
                   least = least(coalesce((SELECT min(m.n) FROM rowlock.lease m
                                            WHERE m.name = cur.name AND m.n > cur.least),
                                          take.token), take.token) - 1
             WHERE l.name = cur.name AND l.n = cur.n;
        END IF;
        INSERT INTO rowlock.lease (name, n, token, mode, "limit", "count", owner, expires, acquired,
                                   quiet_until, waited, host, pid, command, note, alone)
        VALUES (take.name, CASE WHEN cur.token = 0 THEN take.token ELSE at END, take.token,
                take.mode, limit_, count_, take.owner,
                pg_catalog.clock_timestamp() + {interval ttl_ms}, {own_now}, quiet, waiting_ms,
                take.host, take.pid, take.command, take.note, take.alone)
            ON CONFLICT ON CONSTRAINT lease_pkey DO NOTHING;
        IF NOT FOUND THEN -- a waiter has just queued, or a fast grant was faster
            SELECT t.* INTO status, number, detail
              FROM rowlock.take(name, mode, limit_, count_, token, alone, owner, ttl_ms, ticket,
                                host, pid, command, note) t;
            RETURN;
        END IF;
    END IF;
    DELETE FROM rowlock.waiter w WHERE w.name = take.name COLLATE "C" AND w.ticket = take.ticket;
    --@
    status := 0;
END $$;

-- All names of a lease, or none: after any status other than 0 nothing is written. The name whose
-- status it is: `name`.
CREATE FUNCTION rowlock.take_all(
    names text[], modes text[], limits integer[], counts integer[], token bigint, owner text,
    ttl_ms bigint, ticket bigint, host text, pid bigint, command text, note text,
    OUT status integer, OUT name text, OUT number bigint, OUT detail text)
LANGUAGE plpgsql VOLATILE SET exit_on_error = off AS $$
DECLARE
    want record;
BEGIN
    FOR want IN SELECT * FROM {each_want} ORDER BY u.name COLLATE "C" LOOP
        name := want.name;
        SELECT t.* INTO status, number, detail
          FROM rowlock.take(want.name, want.mode, want."limit", want."count", token, false, owner,
                            ttl_ms, ticket, host, pid, command, note) t;
        IF status <> 0 THEN
            RAISE EXCEPTION 'rowlock: not granted' USING ERRCODE = 'RL100';
        END IF;
    END LOOP;
EXCEPTION WHEN SQLSTATE 'RL100' THEN
    NULL;
END $$;

-- Ends the expired leases that conflict with these names, whose name locks the caller has, in the
-- order of their tokens. Each wait for a fence or a renewal lasts at most limit_ms: false after
-- that.
CREATE FUNCTION rowlock.sweep(names text[], modes text[], limit_ms bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE SET exit_on_error = off SET enable_bitmapscan = off AS $$
DECLARE
    dead constant bigint[] := ARRAY(WITH asked AS (SELECT sweep.names, sweep.modes)
                                    {expired_of asked});
    saved constant text := pg_catalog.current_setting('lock_timeout');
BEGIN
    IF dead = '{}' THEN
        RETURN true;
    END IF;
    PERFORM pg_catalog.set_config('lock_timeout', greatest(limit_ms, 1)::text, true);
    PERFORM FROM {rows_of dead} AND l.expires <= pg_catalog.clock_timestamp()
      ORDER BY l.name FOR UPDATE;
    PERFORM rowlock.end_lease(d.token, only_expired => true)
       FROM pg_catalog.unnest(dead) d (token);
    PERFORM pg_catalog.set_config('lock_timeout', saved, true);
    RETURN true;
EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
    RETURN false;
END $$;

-- Takes the name locks of a grant, in the order of their keys, because two names may have the same:
-- exclusive for exclusive leases and permits, shared for shared leases. With a shared one it locks
-- the owner too, because an earlier call of it, whose reply was lost, may still be about to commit;
-- an exclusive one already separates its calls. status: 0, 1 (a try), 2 (until `deadline`).
CREATE FUNCTION rowlock.lock_names(names text[], modes text[], owner text, tries boolean,
                                   deadline timestamptz, OUT status integer, OUT name text)
LANGUAGE plpgsql VOLATILE SET exit_on_error = off AS $$
DECLARE
    want record;
BEGIN
    FOR want IN SELECT k.key, k.name, k.shared
                  FROM (SELECT {key_of u.name} AS key, u.name, u.mode = 'shared' AS shared
                          FROM ROWS FROM (pg_catalog.unnest(names), pg_catalog.unnest(modes))
                               u (name, mode)
                        UNION ALL SELECT {owner_key_of lock_names.owner}, NULL, false
                         WHERE 'shared' = ANY (modes)) k
                 ORDER BY k.name IS NOT NULL, k.key LOOP
        name := coalesce(want.name, names[1]);
        IF tries THEN
            status := CASE WHEN CASE WHEN want.shared
                                 THEN pg_catalog.pg_try_advisory_xact_lock_shared(want.key)
                                 ELSE pg_catalog.pg_try_advisory_xact_lock(want.key) END
                           THEN 0 ELSE 1 END;
            IF status <> 0 THEN
                RETURN;
            END IF;
        ELSE
            {wait_until deadline};
            IF want.shared THEN
                PERFORM pg_catalog.pg_advisory_xact_lock_shared(want.key);
            ELSE
                PERFORM pg_catalog.pg_advisory_xact_lock(want.key);
            END IF;
        END IF;
    END LOOP;
    status := 0;
    name := NULL;
EXCEPTION WHEN lock_not_available THEN
    status := 2;
END $$;

-- See dialect.h, grant. wait_ms 0: the caller commits in the same round trip. Otherwise the client
-- commits in a second round trip: so a waiter that died meanwhile is never granted the lease, and
-- the server ends the session of one that is frozen after 2 s.
CREATE FUNCTION rowlock.grant_lease(
    names text[], modes text[], limits integer[], counts integer[], owner text, ttl_ms bigint,
    wait_ms bigint, ticket bigint, session bigint, host text, pid bigint, command text, note text,
    OUT status integer, OUT name text, OUT token bigint, OUT number bigint, OUT detail text)
LANGUAGE plpgsql VOLATILE SET enable_bitmapscan = off AS $$
DECLARE
    seen record;
    locked boolean := false;
BEGIN
    {durable};
    PERFORM rowlock.check_use(u.name) FROM pg_catalog.unnest(names) u (name);
    FOR attempt IN 1..2 LOOP
        -- own: the lease of an earlier attempt of this call, whose reply was lost
        SELECT pg_catalog.max(l.token) FILTER (WHERE l.owner = grant_lease.owner) AS own,
               pg_catalog.max(l.token) FILTER (WHERE l.mode = 'exclusive' AND l.expires > {now})
                   AS held,
               pg_catalog.bool_or(l.expires <= {now}) AS expired
          INTO seen FROM {leases_named names[1] COLLATE "C"} l;
        IF seen.own IS NOT NULL THEN
            IF rowlock.renew_lease(seen.own, ttl_ms) = 0 THEN
                status := 0;
                token := seen.own;
                EXIT;
            END IF;
            PERFORM rowlock.end_lease(seen.own);
        ELSIF attempt = 1 AND wait_ms = 0 AND ticket = 0 AND modes[1] <> 'permit' THEN
            -- a refused try takes no name lock, for which the next waiter would have to wait
            status := CASE WHEN seen.held IS NULL THEN 11 ELSE 3 END;
            number := coalesce(seen.held, (
                SELECT w.ticket FROM rowlock.waiter w
                 WHERE w.name = names[1] COLLATE "C"
                   AND CASE WHEN w.alive_until IS NULL
                            THEN NOT pg_catalog.pg_try_advisory_xact_lock_shared(
                                     {session_key_of w.ticket})
                            ELSE w.alive_until > {now} END
                 ORDER BY w.ticket DESC LIMIT 1));
            name := names[1];
            IF number IS NOT NULL THEN
                RETURN;
            END IF;
        END IF;
        EXIT WHEN attempt = 2;
        IF wait_ms <> 0 THEN
            PERFORM pg_catalog.set_config('idle_in_transaction_session_timeout', '2000', true);
        END IF;
        SELECT k.status, k.name INTO status, name
          FROM rowlock.lock_names(names, modes, owner, wait_ms = 0, {after wait_ms}) k;
        --@
    END LOOP;
    IF ticket <> 0 AND session = pg_catalog.pg_backend_pid() THEN
        locked := EXISTS (SELECT FROM rowlock.waiter w
                           WHERE w.ticket = grant_lease.ticket AND w.alive_until IS NULL);
    END IF;
    IF status = 0 AND token IS NULL THEN
        IF seen.expired OR pg_catalog.cardinality(names) > 1 THEN
            PERFORM rowlock.sweep(names, modes, CASE WHEN wait_ms = 0 THEN 250 ELSE 900 END);
        END IF;
        token := rowlock.next_number();
        --@
        IF pg_catalog.cardinality(names) = 1 THEN
            name := names[1];
            SELECT t.* INTO status, number, detail
              FROM rowlock.take(names[1], modes[1], limits[1], counts[1], token, true, owner,
                                ttl_ms, ticket, host, pid, command, note) t;
        ELSE
            SELECT t.* INTO status, name, number, detail
              FROM rowlock.take_all(names, modes, limits, counts, token, owner, ttl_ms, ticket,
                                    host, pid, command, note) t;
        END IF;
    ELSIF status = 0 THEN
        DELETE FROM rowlock.waiter w WHERE w.ticket = grant_lease.ticket;
    END IF;
    IF status <> 0 THEN
        token := NULL;
        RETURN;
    END IF;
    name := NULL;
    IF session = pg_catalog.pg_backend_pid() THEN
        PERFORM pg_catalog.pg_try_advisory_lock({session_key_of token});
    END IF;
    IF locked THEN
        PERFORM pg_catalog.pg_advisory_xact_lock({session_key_of ticket}),
                pg_catalog.pg_advisory_unlock({session_key_of ticket});
    END IF;
END $$;

-- While it is held --------------------------------------------------------------------------------

-- A lease is found by its token. COLLATE "default" keeps the planner from the key: a search there
-- would read all ended leases of the name while a snapshot of their time is open.

-- Renews a lease: 0, 8 lost, 14 broken. The row counts, not the clock: a takeover must delete the
-- lease. It never shortens the lease. A lease of another name or owner (NULL: any) counts as lost.
-- It does not wait for a fence.
CREATE FUNCTION rowlock.renew_lease(token bigint, ttl_ms bigint, name text DEFAULT NULL,
                                    owner text DEFAULT NULL)
RETURNS integer LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    until constant timestamptz := pg_catalog.clock_timestamp() + {interval ttl_ms};
    held record;
BEGIN
    {durable};
    SELECT pg_catalog.count(*) AS rows, pg_catalog.bool_or(l.stop) AS stop,
           pg_catalog.bool_or(renew_lease.name IS NULL
                              OR l.name COLLATE "default" = renew_lease.name
                                 AND (renew_lease.owner IS NULL OR l.owner = renew_lease.owner))
               AS own
      INTO held
      FROM (SELECT o.* FROM rowlock.lease o WHERE o.token = renew_lease.token AND o.token > 0
             ORDER BY o.name FOR NO KEY UPDATE) l;
    IF held.rows = 0 OR NOT held.own THEN
        RETURN 8;
    ELSIF held.stop THEN
        RETURN 14;
    END IF;
    UPDATE rowlock.lease l SET expires = greatest(l.expires, until)
     WHERE l.token = renew_lease.token AND l.token > 0;
    RETURN 0;
END $$;

-- See dialect.h, break. The lease of a finished job has no process that renews it: the rest of its
-- minimum hold (taken_until) ends at once.
CREATE FUNCTION rowlock.break(name text, token bigint, now boolean) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    tokens constant bigint[] := ARRAY(SELECT l.token FROM {leases_named break.name COLLATE "C"} l
                                       WHERE break.token IN (0, l.token) ORDER BY l.token);
    each bigint;
    broken bigint := 0;
BEGIN
    IF now THEN
        PERFORM FROM {rows_of tokens} ORDER BY l.name FOR UPDATE;
    END IF;
    FOREACH each IN ARRAY tokens LOOP
        IF now OR EXISTS (SELECT FROM rowlock.run r
                           WHERE r.token = each
                             AND r.outcome IN ('done', 'failed', 'timed out')) THEN
            broken := broken + rowlock.end_lease(each, revoke => true)::integer;
        ELSE
            PERFORM FROM rowlock.lease l WHERE l.token = each AND l.token > 0
              ORDER BY l.name FOR NO KEY UPDATE;
            UPDATE rowlock.lease l SET stop = true WHERE l.token = each AND l.token > 0;
            broken := broken + FOUND::integer;
        END IF;
        -- a node that decided before this must decide again
        UPDATE rowlock.job j SET version = j.version + 1
          FROM rowlock.run r
         WHERE r.token = each AND r.outcome = 'running' AND j.name = r.job AND j.running = each;
        UPDATE rowlock.run r SET outcome = 'broken' WHERE r.token = each AND r.outcome = 'running';
    END LOOP;
    RETURN broken;
END $$;

-- Keeps a lease valid until the caller's transaction ends: a session that ends the lease must lock
-- the row FOR UPDATE, and waits. A renewal does not wait. The row alone decides, not the clock.
-- Above READ COMMITTED the server raises an error for a deleted row, which is caught so that the
-- transaction survives.
CREATE FUNCTION rowlock.fence(name text, token bigint, limit_ms bigint, OUT status integer,
                              OUT fenced text, OUT stays integer, OUT detail text)
LANGUAGE plpgsql VOLATILE SET exit_on_error = off AS $$
DECLARE
    saved constant text := pg_catalog.current_setting('lock_timeout');
BEGIN
    stays := 0;
    fenced := name;
    IF pg_catalog.current_setting('transaction_read_only') = 'on' THEN
        status := 10;
        detail := '25006 a read-only transaction cannot fence';
        RETURN;
    END IF;
    PERFORM pg_catalog.set_config('lock_timeout', least(greatest(limit_ms, 1), 2147483647)::text,
                                  true);
    PERFORM FROM rowlock.lease l
        WHERE l.token = fence.token AND l.token > 0 AND l.name COLLATE "default" = fence.name
          FOR KEY SHARE;
    status := CASE WHEN FOUND THEN 0 ELSE 8 END;
    PERFORM pg_catalog.set_config('lock_timeout', saved, true);
EXCEPTION
    WHEN lock_not_available THEN
        status := 2;
    WHEN serialization_failure THEN
        status := 8;
    WHEN query_canceled THEN
        status := 7;
        detail := SQLERRM;
END $$;

-- For SQL clients: raises an error if the lease is lost.
CREATE FUNCTION rowlock.fence(name text, token bigint) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    answer record;
BEGIN
    SELECT * INTO answer FROM rowlock.fence(name, token, 30000);
    IF answer.status = 10 THEN
        RAISE EXCEPTION 'rowlock: %', pg_catalog.substr(answer.detail, 7) USING ERRCODE = '25006';
    ELSIF answer.status <> 0 THEN
        PERFORM rowlock.fail(answer.status, name);
    END IF;
END $$;
COMMENT ON FUNCTION rowlock.fence(text, bigint) IS
    'Keeps a lease valid until the transaction ends. Raises an error (RL005) unless token is a '
    'valid lease of that name.';
