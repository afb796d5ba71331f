-- SPDX-License-Identifier: Apache-2.0
-- The queue for leases: first come, first served per name, whatever the mode. A ticket has one row
-- per name. Session locks wake the next waiter: each waiter holds that of its ticket, each holder
-- that of its token. They are hints; the rows decide. A row may look dead only if its waiter is
-- dead: so a waiter takes the session lock before it commits the row, and releases it after the row
-- is deleted.

-- Session locks -----------------------------------------------------------------------------------

-- Returns the advisory lock key of a ticket or token; the seed separates it from the keys of names.
CREATE FUNCTION rowlock.session_key(number bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT pg_catalog.hashint8extended(number, 8386112019297791602)
$$;

-- Returns the keys of all session locks, which are advisory locks but no name locks.
CREATE FUNCTION rowlock.session_keys() RETURNS SETOF bigint LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN QUERY SELECT rowlock.session_key(l.token) FROM rowlock.lease l
                  UNION SELECT rowlock.session_key(w.ticket) FROM rowlock.waiter w;
END $$;

-- Returns whether this is the server session that the client knows as its own. Behind a pooler it
-- is not, and a session lock would remain with the next client of the session.
CREATE FUNCTION rowlock.is_own(session bigint) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN coalesce(session = pg_catalog.pg_backend_pid(), false);
END $$;

-- Takes the session lock of a number if it is free. The lock outlives the transaction. The session
-- keeps a list of its session locks, each as ',NUMBER,', because the server warns when it releases
-- a lock that it does not hold. The list ends at 400 characters, 20 to 100 locks: the server has
-- 64 for each session, and without memory for more it refuses every lock. A further lease or ticket
-- has none, as behind a pooler: its waiters poll.
CREATE FUNCTION rowlock.session_lock(number bigint) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    held constant text := pg_catalog.current_setting('rowlock.session_locks', true);
    entry constant text := pg_catalog.concat(',', number, ',');
BEGIN
    RETURN CASE WHEN pg_catalog.strpos(held, entry) > 0 THEN true
                WHEN pg_catalog.length(held) > 400 THEN false
                WHEN pg_catalog.pg_try_advisory_lock(pg_catalog.hashint8extended(
                        number, 8386112019297791602))
                THEN pg_catalog.set_config('rowlock.session_locks',
                                           pg_catalog.concat(held, entry), false) IS NOT NULL
                ELSE false END;
END $$;

-- Releases the session lock of a number when this transaction has ended, and not earlier: the
-- session that it wakes must see the committed changes. The lock becomes a transaction lock, which
-- the server releases after the rows are visible.
CREATE FUNCTION rowlock.session_unlock(number bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    held constant text := coalesce(pg_catalog.current_setting('rowlock.session_locks', true), '');
    entry constant text := pg_catalog.concat(',', number, ',');
    key bigint;
BEGIN
    IF pg_catalog.strpos(held, entry) = 0 THEN
        RETURN false;
    END IF;
    key := rowlock.session_key(number);
    PERFORM pg_catalog.pg_advisory_xact_lock(key), pg_catalog.pg_advisory_unlock(key),
            pg_catalog.set_config('rowlock.session_locks', pg_catalog.replace(held, entry, ''),
                                  false);
    RETURN true;
END $$;

-- Releases the session lock of a grant or a ticket that was rolled back: the rollback undid the
-- list of session locks, but not the lock. The sequence knows the number that this session drew
-- last.
CREATE FUNCTION rowlock.session_unlock_lost() RETURNS void
LANGUAGE plpgsql VOLATILE SET exit_on_error = off AS $$
DECLARE
    last bigint;
    key bigint;
BEGIN
    last := pg_catalog.currval('rowlock.number');
    key := rowlock.session_key(last);
    IF pg_catalog.strpos(coalesce(pg_catalog.current_setting('rowlock.session_locks', true), ''),
                         ',' || last::text || ',') = 0
       AND EXISTS (SELECT FROM pg_catalog.pg_locks k
                    WHERE k.locktype = 'advisory' AND k.pid = pg_catalog.pg_backend_pid()
                      AND k.objsubid = 1
                      AND k.mode = 'ExclusiveLock' AND k.granted
                      AND k.classid = ((key >> 32) & 4294967295)::oid
                      AND k.objid = (key & 4294967295)::oid) THEN
        PERFORM pg_catalog.pg_advisory_unlock(key);
    END IF;
EXCEPTION WHEN object_not_in_prerequisite_state THEN -- no number was drawn
    NULL;
END $$;

-- The queue ---------------------------------------------------------------------------------------

-- Deletes a ticket if its session lock is free, because then its waiter is dead; one with an
-- alive_until only if that has passed. Returns false if the waiter may live.
CREATE FUNCTION rowlock.remove_dead(ticket bigint) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF NOT pg_catalog.pg_try_advisory_xact_lock_shared(rowlock.session_key(ticket)) THEN
        RETURN false;
    END IF;
    DELETE FROM rowlock.waiter w WHERE w.ticket = remove_dead.ticket
       AND (w.alive_until IS NULL OR w.alive_until <= pg_catalog.clock_timestamp());
    RETURN FOUND OR NOT EXISTS (SELECT FROM rowlock.waiter w WHERE w.ticket = remove_dead.ticket);
END $$;

-- Deletes a ticket whose alive_until has passed. Returns false if a row of it remains: another
-- session has the row locked, perhaps because the waiter is reporting now.
CREATE FUNCTION rowlock.remove_unseen(ticket bigint) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    DELETE FROM rowlock.waiter d
     USING (SELECT e.name, e.ticket FROM rowlock.waiter e
             WHERE e.ticket = remove_unseen.ticket AND e.alive_until <= pg_catalog.clock_timestamp()
               FOR UPDATE SKIP LOCKED) dead
     WHERE d.name = dead.name AND d.ticket = remove_unseen.ticket;
    RETURN NOT EXISTS (SELECT FROM rowlock.waiter w WHERE w.ticket = remove_unseen.ticket);
END $$;

-- Checks the queue for a grant, under the name locks. 0: the caller is next; 11: `number` is
-- directly ahead; 12: the caller's ticket is gone. A caller without a ticket requires an empty
-- queue: it deletes dead tickets, because no waiter behind them would do so. Tickets whose
-- alive_until has passed are deleted in any case. The comparison of name and ticket, here and in
-- other searches of this table, keeps a planner that expects few rows from the index of tickets, in
-- which it would read the tickets of all names. A bitmap scan, which such a planner prefers to the
-- order of the index, would read the whole queue of the name before its first row.
CREATE FUNCTION rowlock.look_queue(wants text, ticket bigint, OUT status integer, OUT name text,
                                   OUT number bigint, OUT detail text)
LANGUAGE plpgsql VOLATILE SET enable_bitmapscan = off AS $$
DECLARE
    until constant bigint := coalesce(nullif(ticket, 0), 9223372036854775807);
    want record;
    each record;
BEGIN
    status := 0;
    FOR want IN SELECT * FROM rowlock.unpack_lease(wants) LOOP
        name := want.name;
        IF ticket <> 0 AND NOT EXISTS (SELECT FROM rowlock.waiter w
                                        WHERE w.name = want.name
                                          AND w.ticket = look_queue.ticket) THEN
            status := 12;
            RETURN;
        END IF;
        FOR each IN SELECT w.ticket, w.alive_until FROM rowlock.waiter w
                     WHERE w.name = want.name AND (w.name, w.ticket) < (want.name, until)
                     ORDER BY w.ticket LOOP
            CONTINUE WHEN coalesce(each.alive_until <= pg_catalog.clock_timestamp(), false)
                AND rowlock.remove_unseen(each.ticket);
            CONTINUE WHEN ticket = 0 AND each.alive_until IS NULL
                AND rowlock.remove_dead(each.ticket);
            status := 11;
            number := (SELECT w.ticket FROM rowlock.waiter w
                        WHERE w.name = want.name AND (w.name, w.ticket) < (want.name, until)
                        ORDER BY w.ticket DESC LIMIT 1);
            RETURN;
        END LOOP;
    END LOOP;
    name := NULL;
END $$;

-- Returns the first wanted permit whose name is held with another limit, or waited for with another
-- limit ahead of that ticket (0: by any ticket). NULL: there is none.
CREATE FUNCTION rowlock.other_limit(wants text, ticket bigint, OUT name text, OUT detail text)
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    SELECT u.name,
           pg_catalog.format('it is %s with limit %s, but limit %s was requested', o.how, o."limit",
                             u."limit")
      INTO name, detail
      FROM rowlock.unpack_lease(wants) u,
           LATERAL (SELECT l."limit", 'held' AS how FROM rowlock.lease l
                     WHERE l.name = u.name AND l."limit" <> u."limit"
                       AND {expires_of l} > pg_catalog.clock_timestamp()
                    UNION ALL
                    SELECT w."limit", 'waited for' FROM rowlock.waiter w
                     WHERE w.name = u.name AND w."limit" <> u."limit"
                       AND (w.name, w.ticket)
                         < (u.name, coalesce(nullif(other_limit.ticket, 0), 9223372036854775807))
                       AND (w.alive_until IS NULL
                            OR w.alive_until > pg_catalog.clock_timestamp())) o
     WHERE u.mode = 'permit'
     LIMIT 1;
END $$;

-- See dialect.h, enqueue. The rows need not survive a crash of the server, which ends all waiters.
CREATE FUNCTION rowlock.enqueue(wants text, owner text, session bigint, good_ms bigint, host text,
                                pid bigint, command text, note text, OUT status integer,
                                OUT name text, OUT token bigint,
                                OUT number bigint, OUT detail text)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    has_lock boolean := false;
BEGIN
    PERFORM pg_catalog.set_config('synchronous_commit', 'off', true);
    PERFORM rowlock.check_use(w.name) FROM rowlock.unpack_lease(wants) w;
    -- The index has the default collation; the arguments have that of convert_from.
    DELETE FROM rowlock.waiter w WHERE w.owner = enqueue.owner COLLATE "default";
    IF pg_catalog.strpos(wants, ':p:') > 0 THEN
        SELECT o.name, o.detail INTO name, detail FROM rowlock.other_limit(wants, 0) o;
        IF name IS NOT NULL THEN
            status := 13;
            RETURN;
        END IF;
    END IF;
    number := rowlock.next_number();
    IF rowlock.is_own(session) THEN
        has_lock := rowlock.session_lock(number);
    END IF;
    INSERT INTO rowlock.waiter (ticket, name, mode, "limit", "count", owner, host, pid, command,
                                note, alive_until)
    SELECT enqueue.number, w.name, w.mode, w."limit", w."count", enqueue.owner, enqueue.host,
           enqueue.pid, enqueue.command, enqueue.note,
           CASE WHEN NOT has_lock
               THEN pg_catalog.clock_timestamp() + {interval good_ms} END
      FROM rowlock.unpack_lease(wants) w;
    status := 0;
END $$;

-- Records that the waiter of a ticket lives, and answers a roll call. Returns true if the ticket's
-- session lock shows it; false if this session cannot take that lock: then alive_until shows it.
CREATE FUNCTION rowlock.stay_alive(ticket bigint, session bigint, good_ms bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF rowlock.is_own(session) AND rowlock.session_lock(ticket) THEN
        UPDATE rowlock.waiter w SET alive_until = NULL, roll_call = NULL
         WHERE w.ticket = stay_alive.ticket
           AND (w.alive_until IS NOT NULL OR w.roll_call IS NOT NULL);
        IF FOUND THEN
            PERFORM pg_catalog.set_config('synchronous_commit', 'off', true);
        END IF;
        RETURN true;
    END IF;
    PERFORM pg_catalog.set_config('synchronous_commit', 'off', true);
    UPDATE rowlock.waiter w
       SET alive_until = pg_catalog.clock_timestamp() + {interval good_ms}, roll_call = NULL
     WHERE w.ticket = stay_alive.ticket;
    RETURN false;
END $$;

-- Returns the last ticket ahead of a ticket, and how many are ahead. It reads at most 17 backwards,
-- so a look behind a thousand waiters costs as much as behind 17: a waiter with a session lock
-- needs no exact position. Deletes tickets whose alive_until has passed.
CREATE FUNCTION rowlock.look_before(wants text, ticket bigint, OUT name text, OUT number bigint,
                                    OUT before bigint)
LANGUAGE plpgsql VOLATILE SET enable_bitmapscan = off AS $$
DECLARE
    want record;
    each record;
    found_before bigint;
BEGIN
    before := 0;
    FOR want IN SELECT * FROM rowlock.unpack_lease(wants) LOOP
        found_before := 0;
        FOR each IN SELECT w.ticket, w.alive_until FROM rowlock.waiter w
                     WHERE w.name = want.name
                       AND (w.name, w.ticket) < (want.name, look_before.ticket)
                     ORDER BY w.ticket DESC LIMIT 17 LOOP
            CONTINUE WHEN coalesce(each.alive_until <= pg_catalog.clock_timestamp(), false)
                AND rowlock.remove_unseen(each.ticket);
            found_before := found_before + 1;
            IF each.ticket > coalesce(number, 0) THEN
                number := each.ticket;
                name := want.name;
            END IF;
        END LOOP;
        before := greatest(before, found_before);
    END LOOP;
END $$;

-- Returns how many tickets are ahead of a ticket, up to 300: there the pauses of a polling waiter
-- stop growing (PAUSE_MAX_MS / STEP_MS in lease/machine).
CREATE FUNCTION rowlock.count_before(name text, ticket bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE SET enable_bitmapscan = off AS $$
BEGIN
    RETURN (SELECT pg_catalog.count(*)
              FROM (SELECT FROM rowlock.waiter w
                     WHERE w.name = count_before.name COLLATE "C"
                       AND (w.name, w.ticket) < (count_before.name COLLATE "C", count_before.ticket)
                     ORDER BY w.ticket DESC LIMIT 300) q);
END $$;

-- The short look of a waiter that polls for one name: the ticket directly ahead, if its waiter has
-- lately given a sign of life, and how many are ahead. Then the waiters ahead see to the dead ones
-- and to the lease, and a thousand far behind cost the server little.
CREATE FUNCTION rowlock.look_ahead(ticket bigint, OUT name text, OUT number bigint,
                                   OUT before bigint)
LANGUAGE plpgsql VOLATILE SET enable_bitmapscan = off AS $$
BEGIN
    SELECT o.name, a.ticket INTO name, number
      FROM (SELECT w.name FROM rowlock.waiter w WHERE w.ticket = look_ahead.ticket LIMIT 1) o,
   LATERAL (SELECT w.ticket, w.alive_until FROM rowlock.waiter w
             WHERE w.name = o.name AND (w.name, w.ticket) < (o.name, look_ahead.ticket)
             ORDER BY w.ticket DESC LIMIT 1) a
     WHERE a.alive_until > pg_catalog.clock_timestamp();
    before := CASE WHEN number IS NULL THEN 0 ELSE rowlock.count_before(name, ticket) END;
END $$;

-- See dialect.h, place. A waiter without a session lock polls, the less often the farther back it
-- is, and with more than 16 ahead it looks shortly.
CREATE FUNCTION rowlock.place(wants text, ticket bigint, session bigint, good_ms bigint,
                              OUT status integer, OUT number bigint, OUT before bigint,
                              OUT free integer, OUT expires_ms bigint, OUT locked integer,
                              OUT name text, OUT detail text)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    way record;
    queue record;
BEGIN
    before := 0;
    expires_ms := 0;
    locked := rowlock.stay_alive(ticket, session, good_ms)::integer;
    IF locked = 0 AND pg_catalog.strpos(wants, ',') = 0 AND pg_catalog.strpos(wants, ':p:') = 0 THEN
        SELECT a.* INTO queue FROM rowlock.look_ahead(ticket) a;
        IF queue.before > 16 THEN
            status := 11;
            name := queue.name;
            number := queue.number;
            before := queue.before;
            free := 0;
            RETURN;
        END IF;
    END IF;
    SELECT k.* INTO way FROM rowlock.look_lease(wants, true) k;
    SELECT q.* INTO queue FROM rowlock.look_before(wants, ticket) q;
    free := CASE WHEN way.status IN (0, 4) THEN 1 ELSE 0 END;
    IF pg_catalog.cardinality(pg_catalog.string_to_array(wants, ',')) >
       (SELECT pg_catalog.count(*) FROM rowlock.waiter w WHERE w.ticket = place.ticket) THEN
        status := 12;
        PERFORM rowlock.session_unlock(ticket);
        locked := 0;
        RETURN;
    ELSIF pg_catalog.strpos(wants, ':p:') > 0 THEN
        SELECT o.name, o.detail INTO name, detail FROM rowlock.other_limit(wants, ticket) o;
    END IF;
    IF name IS NOT NULL THEN
        status := 13;
    ELSIF queue.number IS NOT NULL THEN
        status := 11;
        number := queue.number;
        before := queue.before;
        name := queue.name;
        IF locked = 0 AND before > 16 THEN
            before := greatest(before, rowlock.count_before(name, ticket));
        END IF;
    ELSIF way.status = 3 THEN
        status := 3;
        number := way.number;
        expires_ms := greatest(0,
                               pg_catalog.ceil({in_ms way.expires - pg_catalog.clock_timestamp()}));
        name := way.name;
    ELSE
        status := 0;
    END IF;
    IF locked = 1 AND status <> 0 THEN
        PERFORM rowlock.warm_up();
    END IF;
END $$;

-- Returns for how many of these milliseconds one statement may wait: at most 30 s, because a
-- waiting statement holds vacuum back, and less than statement_timeout.
CREATE FUNCTION rowlock.slice(limit_ms bigint) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    allowed constant interval := pg_catalog.current_setting('statement_timeout')::interval
        * 0.8::double precision;
BEGIN
    RETURN greatest(1, least(limit_ms, 30000, CASE WHEN allowed > interval '0'
                                                   THEN ({in_ms allowed})::bigint END));
END $$;

-- See dialect.h, await. It takes the lock in shared mode, so that any number of sessions may wait,
-- and as a transaction lock, so that a cancel leaves nothing on the session.
CREATE FUNCTION rowlock.await(kind integer, number bigint, limit_ms bigint, ticket bigint)
RETURNS integer LANGUAGE plpgsql VOLATILE SET exit_on_error = off AS $$
DECLARE
    key constant bigint := rowlock.session_key(number);
    left_ms bigint := CASE WHEN limit_ms > 0 THEN rowlock.slice(limit_ms) ELSE 0 END;
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
            WHEN deadlock_detected THEN
                RETURN 0;
        END;
    END LOOP;
    IF kind = 0 THEN
        DELETE FROM rowlock.waiter w WHERE w.ticket = await.number AND w.alive_until IS NULL;
    END IF;
    RETURN 1;
END $$;

-- Returns whether the waiter of a ticket may be blocked by the name lock of a name not in wants:
-- then it cannot answer, without being frozen. Waits for no lock.
CREATE FUNCTION rowlock.is_blocked(ticket bigint, wants text) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    each record;
BEGIN
    FOR each IN SELECT w.name, w.mode FROM rowlock.waiter w
                 WHERE w.ticket = is_blocked.ticket
                   AND w.name NOT IN (SELECT u.name FROM rowlock.unpack_lease(wants) u) LOOP
        IF rowlock.try_name_lock(each.name, each.mode = 'shared' AND rowlock.can_share()) IN (1, 2)
            THEN
            RETURN true;
        END IF;
    END LOOP;
    RETURN false;
END $$;

-- See dialect.h, overtake. A live waiter clears its roll call at its next look. A later roll call
-- is another caller's, and too recent.
CREATE FUNCTION rowlock.overtake(wants text, ticket bigint, roll_call bigint, limit_ms bigint)
RETURNS bigint LANGUAGE plpgsql VOLATILE SET exit_on_error = off AS $$
DECLARE
    number bigint := roll_call;
    unmarked record;
    each bigint;
BEGIN
    PERFORM pg_catalog.set_config('synchronous_commit', 'off', true);
    IF (SELECT t.status FROM rowlock.wait_all(wants, ticket::text, limit_ms) t) <> 0
       OR (SELECT k.status FROM rowlock.look_lease(wants, true) k) IN (3, 13) THEN
        RETURN 0;
    ELSIF roll_call = 0 THEN
        number := rowlock.next_number();
        -- one by one: with a join the planner may read all waiters for each of them
        FOR unmarked IN SELECT e.name, e.ticket
                          FROM rowlock.unpack_lease(wants) u
                          JOIN rowlock.waiter e ON e.name = u.name
                         WHERE (e.name, e.ticket) < (u.name, overtake.ticket)
                           AND e.roll_call IS NULL
                           FOR UPDATE OF e SKIP LOCKED LOOP
            UPDATE rowlock.waiter w SET roll_call = number
             WHERE w.name = unmarked.name AND w.ticket = unmarked.ticket;
        END LOOP;
        RETURN number;
    END IF;
    FOREACH each IN ARRAY ARRAY(
        SELECT e.ticket FROM rowlock.unpack_lease(wants) u JOIN rowlock.waiter e ON e.name = u.name
         WHERE (e.name, e.ticket) < (u.name, overtake.ticket) AND e.roll_call <= overtake.roll_call
           FOR UPDATE OF e SKIP LOCKED) LOOP
        IF NOT rowlock.is_blocked(each, wants) THEN
            DELETE FROM rowlock.waiter w WHERE w.ticket = each;
        END IF;
    END LOOP;
    RETURN number;
EXCEPTION WHEN deadlock_detected OR lock_not_available THEN
    RETURN 0;
END $$;

CREATE FUNCTION rowlock.withdraw(ticket bigint, owner text) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM pg_catalog.set_config('synchronous_commit', 'off', true);
    PERFORM rowlock.log_waiter(ticket, owner);
    DELETE FROM rowlock.waiter w
     WHERE w.owner = withdraw.owner AND withdraw.ticket IN (0, w.ticket);
    PERFORM rowlock.session_unlock_lost();
    PERFORM rowlock.session_unlock(ticket);
END $$;

-- Returns the names that transactions hold. The server shows only the key of a lock, so this finds
-- only names that some table contains.
CREATE FUNCTION rowlock.locked_names() RETURNS TABLE (name text) LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN QUERY
        WITH locked AS MATERIALIZED (SELECT k.classid::bigint << 32 | k.objid::bigint AS key
                          FROM pg_catalog.pg_locks k
                         WHERE {advisory_lock k} AND k.granted)
        SELECT n.name FROM rowlock.names n
         WHERE EXISTS (SELECT FROM locked) AND n.key IN (SELECT k.key FROM locked k);
END $$;

-- Lists holders and waiters of one name or (NULL) of all names, without dead ones.
CREATE FUNCTION rowlock.list(name text)
RETURNS TABLE (state text, lock_name text, mode text, token bigint, ticket bigint, owner text,
               host text, pid bigint, command text, note text, since_ms bigint, expires_ms bigint,
               left_ms bigint, "limit" integer,
               "count" integer, stop boolean)
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN QUERY
        SELECT 'held', l.name::text, pg_catalog.max(l.mode), l.token, 0::bigint,
               pg_catalog.max(l.owner), pg_catalog.max(l.host),
               pg_catalog.max(l.pid), pg_catalog.max(l.command), pg_catalog.max(l.note),
               pg_catalog.max(({in_ms l.acquired})::bigint),
               pg_catalog.max(({in_ms b.expires})::bigint),
               pg_catalog.max(({in_ms b.expires - pg_catalog.clock_timestamp()})::bigint),
               pg_catalog.max(l."limit"), pg_catalog.count(*)::integer, pg_catalog.bool_or(b.stop)
          FROM (SELECT o.* FROM rowlock.lease o
                 WHERE list.name IS NULL OR o.name = list.name COLLATE "C" OFFSET 0) l,
       {heartbeat_of l} b
         WHERE b.expires > pg_catalog.clock_timestamp()
         GROUP BY l.name, l.token ORDER BY l.name, l.token;
    RETURN QUERY
        SELECT 'transaction', k.name, t.mode, 0::bigint, 0::bigint, NULL::text, t.host, t.pid,
               t.program, NULL::text, ({in_ms t.since})::bigint, NULL::bigint, NULL::bigint,
               NULL::integer, 1, false
          FROM (SELECT list.name COLLATE "default" AS name WHERE list.name IS NOT NULL
                UNION ALL SELECT n.name FROM rowlock.locked_names() n WHERE list.name IS NULL) k,
       LATERAL rowlock.transactions(k.name) t ORDER BY k.name;
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
                    ELSE rowlock.session_key(w.ticket) IN (SELECT m.key FROM session_locked m) END
         ORDER BY w.name, w.ticket;
END $$;
