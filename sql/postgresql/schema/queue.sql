-- SPDX-License-Identifier: Apache-2.0
-- The queue for leases: first come, first served per name, whatever the mode. A ticket is a row a
-- name. Session locks wake whoever is next (a ticket's by its waiter, a token's by its holder); they
-- are hints, and rows decide. A row may look dead only if its waiter is: its session lock is got before
-- the row is committed, and given back after the row is gone.

-- Session locks: who wakes whom -------------------------------------------------------------------

-- The advisory lock of a ticket's or a token's number; the seed keeps it apart from names.
CREATE FUNCTION rowlock.session_key(number bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT pg_catalog.hashint8extended(number, 8386112019297791602)
$$;

-- The keys of those who hold and wait: advisory locks that are no names.
CREATE FUNCTION rowlock.session_keys() RETURNS SETOF bigint LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN QUERY SELECT rowlock.session_key(l.token) FROM rowlock.lease l
                  UNION SELECT rowlock.session_key(w.ticket) FROM rowlock.waiter w;
END $$;

-- Is this the session that the client means? Behind a pooler it is not, and a lock of the session
-- would stay with whoever gets it next.
CREATE FUNCTION rowlock.is_own(session bigint) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN coalesce(session = pg_catalog.pg_backend_pid(), false);
END $$;

-- Takes the session lock of a number as far as it is free. It outlives the transaction. The session
-- keeps a note of those it has, for the server warns whoever gives back what he has not.
CREATE FUNCTION rowlock.add_mark(number bigint) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    marks constant text := coalesce(nullif(pg_catalog.current_setting('rowlock.marks', true), ''), ',');
BEGIN
    RETURN CASE WHEN pg_catalog.strpos(marks, ',' || number::text || ',') > 0 THEN true
                WHEN pg_catalog.pg_try_advisory_lock(pg_catalog.hashint8extended(number, 8386112019297791602))
                THEN pg_catalog.set_config('rowlock.marks', marks || number::text || ',', false) IS NOT NULL
                ELSE false END;
END $$;

-- Gives it back when this transaction has ended, and not earlier: whoever it wakes must see what was
-- committed. The lock becomes the transaction's, which frees it after its rows are visible.
CREATE FUNCTION rowlock.drop_mark(number bigint) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    marks constant text := coalesce(pg_catalog.current_setting('rowlock.marks', true), '');
    key bigint;
BEGIN
    IF pg_catalog.strpos(marks, ',' || number::text || ',') = 0 THEN
        RETURN false;
    END IF;
    key := rowlock.session_key(number);
    PERFORM pg_catalog.pg_advisory_xact_lock(key), pg_catalog.pg_advisory_unlock(key),
            pg_catalog.set_config('rowlock.marks', pg_catalog.replace(marks, ',' || number::text || ',', ','), false);
    RETURN true;
END $$;

-- A grant or a ticket that was rolled back took its note with it, but not its lock. Of the number that
-- this session drew last the sequence knows.
CREATE FUNCTION rowlock.drop_lost_mark() RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    last bigint;
    key bigint;
BEGIN
    last := pg_catalog.currval('rowlock.number');
    key := rowlock.session_key(last);
    IF pg_catalog.strpos(coalesce(pg_catalog.current_setting('rowlock.marks', true), ''), ',' || last::text || ',') = 0
       AND EXISTS (SELECT FROM pg_catalog.pg_locks k
                    WHERE k.locktype = 'advisory' AND k.pid = pg_catalog.pg_backend_pid() AND k.objsubid = 1
                      AND k.mode = 'ExclusiveLock' AND k.granted
                      AND k.classid = ((key >> 32) & 4294967295)::oid AND k.objid = (key & 4294967295)::oid) THEN
        PERFORM pg_catalog.pg_advisory_unlock(key);
    END IF;
EXCEPTION WHEN object_not_in_prerequisite_state THEN -- none was drawn
    NULL;
END $$;

-- The queue --------------------------------------------------------------------------------------

-- Ends a ticket that nobody stands behind any more: its session lock was free. The row may be gone.
CREATE FUNCTION rowlock.remove_dead(ticket bigint) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF NOT pg_catalog.pg_try_advisory_xact_lock_shared(rowlock.session_key(ticket)) THEN
        RETURN false;
    END IF;
    DELETE FROM rowlock.waiter w WHERE w.ticket = remove_dead.ticket
       AND (w.seen IS NULL OR w.seen <= pg_catalog.clock_timestamp());
    RETURN FOUND OR NOT EXISTS (SELECT FROM rowlock.waiter w WHERE w.ticket = remove_dead.ticket);
END $$;

-- Removes a ticket whose waiter has not been seen for too long. False if a row of it is left: another
-- session has it locked, perhaps because the waiter is being seen just now.
CREATE FUNCTION rowlock.remove_unseen(ticket bigint) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    DELETE FROM rowlock.waiter d
     USING (SELECT e.name, e.ticket FROM rowlock.waiter e
             WHERE e.ticket = remove_unseen.ticket AND e.seen <= pg_catalog.clock_timestamp()
               FOR UPDATE SKIP LOCKED) dead
     WHERE d.name = dead.name AND d.ticket = dead.ticket;
    RETURN NOT EXISTS (SELECT FROM rowlock.waiter w WHERE w.ticket = remove_unseen.ticket);
END $$;

-- The queue as a grant sees it, under T. 0: ours to take; 11: `number` stands directly before; 12: our
-- ticket is gone; 13. Without a ticket nobody may stand there; then dead ones are removed, for there
-- is nobody behind them who would. Whom nobody has seen for too long is removed in any case.
CREATE FUNCTION rowlock.look_queue(wants text, ticket bigint, OUT status integer, OUT name text,
                                   OUT number bigint, OUT detail text)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    want record;
    each record;
BEGIN
    status := 0;
    FOR want IN SELECT * FROM rowlock.unpack_lease(wants) LOOP
        name := want.name;
        IF ticket <> 0 AND NOT EXISTS (SELECT FROM rowlock.waiter w
                                        WHERE w.name = want.name AND w.ticket = look_queue.ticket) THEN
            status := 12;
            RETURN;
        END IF;
        FOR each IN SELECT w.ticket, w.seen FROM rowlock.waiter w
                     WHERE w.name = want.name AND (look_queue.ticket = 0 OR w.ticket < look_queue.ticket)
                     ORDER BY w.ticket LOOP
            CONTINUE WHEN each.seen <= pg_catalog.clock_timestamp() AND rowlock.remove_unseen(each.ticket);
            CONTINUE WHEN ticket = 0 AND each.seen IS NULL AND rowlock.remove_dead(each.ticket);
            status := 11;
            number := (SELECT w.ticket FROM rowlock.waiter w
                        WHERE w.name = want.name AND (look_queue.ticket = 0 OR w.ticket < look_queue.ticket)
                        ORDER BY w.ticket DESC LIMIT 1);
            RETURN;
        END LOOP;
    END LOOP;
    name := NULL;
END $$;

-- The first of the permits wanted whose name is held, or waited for before that ticket (0: by
-- anybody), with another limit; NULL: there is none.
CREATE FUNCTION rowlock.other_limit(wants text, ticket bigint, OUT name text, OUT detail text)
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    SELECT u.name, pg_catalog.format('it is %s with limit %s, and limit %s is asked for', o.how, o."limit", u."limit")
      INTO name, detail
      FROM rowlock.unpack_lease(wants) u,
           LATERAL (SELECT l."limit", 'held' AS how FROM rowlock.lease l JOIN rowlock.beat b ON b.token = l.token
                     WHERE l.name = u.name AND l."limit" <> u."limit" AND b.expires > pg_catalog.clock_timestamp()
                    UNION ALL
                    SELECT w."limit", 'waited for' FROM rowlock.waiter w
                     WHERE w.name = u.name AND w."limit" <> u."limit"
                       AND (other_limit.ticket = 0 OR w.ticket < other_limit.ticket)
                       AND (w.seen IS NULL OR w.seen > pg_catalog.clock_timestamp())) o
     WHERE u.mode = 'permit'
     LIMIT 1;
END $$;

-- Queues: a ticket for all the names, behind everybody. What this owner had there goes, for a reply was
-- lost. Nothing here must outlive a crash of the server: it ends all who wait.
CREATE FUNCTION rowlock.enqueue(wants text, owner text, session bigint, good_ms bigint, host text, pid bigint,
                                command text, note text, OUT status integer, OUT name text, OUT token bigint,
                                OUT number bigint, OUT detail text)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    marked boolean := false;
BEGIN
    PERFORM pg_catalog.set_config('synchronous_commit', 'off', true);
    PERFORM rowlock.check_use(w.name) FROM rowlock.unpack_lease(wants) w;
    DELETE FROM rowlock.waiter w WHERE w.owner = enqueue.owner;
    IF pg_catalog.strpos(wants, ':p:') > 0 THEN
        SELECT o.name, o.detail INTO name, detail FROM rowlock.other_limit(wants, 0) o;
        IF name IS NOT NULL THEN
            status := 13;
            RETURN;
        END IF;
    END IF;
    number := rowlock.next_number();
    IF rowlock.is_own(session) THEN
        marked := rowlock.add_mark(number);
    END IF;
    INSERT INTO rowlock.waiter (ticket, name, mode, "limit", "count", owner, host, pid, command, note, seen)
    SELECT enqueue.number, w.name, w.mode, w."limit", w."count", enqueue.owner, enqueue.host, enqueue.pid,
           enqueue.command, enqueue.note,
           CASE WHEN NOT marked THEN pg_catalog.clock_timestamp() + good_ms::double precision * interval '1 ms' END
      FROM rowlock.unpack_lease(wants) w;
    status := 0;
END $$;

-- Records that the ticket's waiter lives: by this session's lock where the session can have it (true), else
-- by an instant until which the waiter counts as alive. It also answers a roll call.
CREATE FUNCTION rowlock.stay_alive(ticket bigint, session bigint, good_ms bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF rowlock.is_own(session) AND rowlock.add_mark(ticket) THEN
        UPDATE rowlock.waiter w SET seen = NULL, called = NULL
         WHERE w.ticket = stay_alive.ticket AND (w.seen IS NOT NULL OR w.called IS NOT NULL);
        IF FOUND THEN
            PERFORM pg_catalog.set_config('synchronous_commit', 'off', true);
        END IF;
        RETURN true;
    END IF;
    PERFORM pg_catalog.set_config('synchronous_commit', 'off', true);
    UPDATE rowlock.waiter w
       SET seen = pg_catalog.clock_timestamp() + good_ms::double precision * interval '1 ms', called = NULL
     WHERE w.ticket = stay_alive.ticket;
    RETURN false;
END $$;

-- Which tickets are before a ticket: the last one, and how many. Reads backwards from it, 17 at most: a
-- waiter far behind needs to know no more, and a thousand waiters cost as much as ten. Removes the
-- tickets of waiters that were not seen for too long.
CREATE FUNCTION rowlock.look_before(wants text, ticket bigint, OUT name text, OUT number bigint,
                                    OUT before bigint)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    want record;
    each record;
    found_before bigint;
BEGIN
    before := 0;
    FOR want IN SELECT * FROM rowlock.unpack_lease(wants) LOOP
        found_before := 0;
        FOR each IN SELECT w.ticket, w.seen FROM rowlock.waiter w
                     WHERE w.name = want.name AND w.ticket < look_before.ticket
                     ORDER BY w.ticket DESC LIMIT 17 LOOP
            CONTINUE WHEN each.seen <= pg_catalog.clock_timestamp() AND rowlock.remove_unseen(each.ticket);
            found_before := found_before + 1;
            IF each.ticket > coalesce(number, 0) THEN
                number := each.ticket;
                name := want.name;
            END IF;
        END LOOP;
        before := greatest(before, found_before);
    END LOOP;
END $$;

-- Where a ticket stands. 0: first for all its names, and nothing is in the way; 3: first, but leased,
-- `number` the token that ends first, in expires_ms; 11: `number` is the last before, free 1: no lease is
-- in the way; 12: the ticket is gone; 13.
CREATE FUNCTION rowlock.place(wants text, ticket bigint, session bigint, good_ms bigint,
                              OUT status integer, OUT number bigint, OUT before bigint, OUT free integer,
                              OUT expires_ms bigint, OUT locked integer, OUT name text, OUT detail text)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    way record;
    queue record;
BEGIN
    before := 0;
    expires_ms := 0;
    locked := rowlock.stay_alive(ticket, session, good_ms)::integer;
    SELECT k.* INTO way FROM rowlock.look_lease(wants, true) k;
    SELECT q.* INTO queue FROM rowlock.look_before(wants, ticket) q;
    free := CASE WHEN way.status IN (0, 4) THEN 1 ELSE 0 END;
    IF pg_catalog.cardinality(pg_catalog.string_to_array(wants, ',')) >
       (SELECT pg_catalog.count(*) FROM rowlock.waiter w WHERE w.ticket = place.ticket) THEN
        status := 12;
        PERFORM rowlock.drop_mark(ticket);
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
    ELSIF way.status = 3 THEN
        status := 3;
        number := way.number;
        expires_ms := greatest(0, pg_catalog.ceil(extract(epoch FROM way.expires - pg_catalog.clock_timestamp())::numeric * 1000.0));
        name := way.name;
    ELSE
        status := 0;
    END IF;
    IF locked = 1 AND status <> 0 THEN
        PERFORM rowlock.rehearse();
    END IF;
END $$;

-- How many milliseconds of these a statement may wait: 30 s at most, for a statement that waits holds
-- vacuum back; and not until statement_timeout ends it.
CREATE FUNCTION rowlock.slice(limit_ms bigint) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    allowed constant interval := pg_catalog.current_setting('statement_timeout')::interval * 0.8::double precision;
BEGIN
    RETURN greatest(1, least(limit_ms, 30000, CASE WHEN allowed > interval '0'
                                                   THEN (extract(epoch FROM allowed)::numeric * 1000.0)::bigint END));
END $$;

-- Blocks until the session lock of a ticket or a token is free: 1, or 0 after limit_ms. Shared, so that any
-- number may wait, and for a moment. A ticket that still stands then is dead. It is got for the
-- transaction: a cancel that comes just then leaves nothing on the session.
-- A long wait ends early when a roll call waits for an answer of `ticket`, our own: it looks every 3 s.
CREATE FUNCTION rowlock.await(kind integer, number bigint, limit_ms bigint, ticket bigint) RETURNS integer
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    key constant bigint := rowlock.session_key(number);
    left_ms bigint := CASE WHEN limit_ms > 0 THEN rowlock.slice(limit_ms) ELSE 0 END;
BEGIN
    WHILE NOT pg_catalog.pg_try_advisory_xact_lock_shared(key) LOOP
        IF left_ms <= 0 OR EXISTS (SELECT FROM rowlock.waiter w
                                    WHERE w.ticket = await.ticket AND w.called IS NOT NULL) THEN
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
        DELETE FROM rowlock.waiter w WHERE w.ticket = await.number AND w.seen IS NULL;
    END IF;
    RETURN 1;
END $$;

-- May the waiter of a ticket be blocked by the name lock of another name than these? Then it is silent
-- without being frozen. Waits for nobody.
CREATE FUNCTION rowlock.is_blocked(ticket bigint, wants text) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    each record;
BEGIN
    FOR each IN SELECT w.name, w.mode FROM rowlock.waiter w
                 WHERE w.ticket = is_blocked.ticket
                   AND w.name NOT IN (SELECT u.name FROM rowlock.unpack_lease(wants) u) LOOP
        IF rowlock.try_take(each.name, each.mode = 'shared' AND rowlock.can_share()) IN (1, 2) THEN
            RETURN true;
        END IF;
    END LOOP;
    RETURN false;
END $$;

-- Passes frozen waiters by a roll call, under the name locks of wants and while no live lease is in the
-- way; else 0. called 0: marks every ticket before ours that bears no mark, and returns the number of this
-- call. A live waiter removes its mark at its next look. called > 0: removes the tickets that still bear the
-- mark of that call or an earlier one, and returns it. A later mark is another caller's, and too young.
CREATE FUNCTION rowlock.overtake(wants text, ticket bigint, called bigint, limit_ms bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    number bigint := called;
    each bigint;
BEGIN
    PERFORM pg_catalog.set_config('synchronous_commit', 'off', true);
    IF (SELECT t.status FROM rowlock.wait_all(wants, ticket::text, limit_ms) t) <> 0
       OR (SELECT k.status FROM rowlock.look_lease(wants, true) k) IN (3, 13) THEN
        RETURN 0;
    ELSIF called = 0 THEN
        number := rowlock.next_number();
        UPDATE rowlock.waiter w SET called = number
          FROM (SELECT e.name, e.ticket FROM rowlock.unpack_lease(wants) u JOIN rowlock.waiter e ON e.name = u.name
                 WHERE e.ticket < overtake.ticket AND e.called IS NULL
                   FOR UPDATE OF e SKIP LOCKED) unmarked
         WHERE w.name = unmarked.name AND w.ticket = unmarked.ticket;
        RETURN number;
    END IF;
    FOREACH each IN ARRAY ARRAY(
        SELECT e.ticket FROM rowlock.unpack_lease(wants) u JOIN rowlock.waiter e ON e.name = u.name
         WHERE e.ticket < overtake.ticket AND e.called <= overtake.called
           FOR UPDATE OF e SKIP LOCKED) LOOP
        IF NOT rowlock.is_blocked(each, wants) THEN
            DELETE FROM rowlock.waiter w WHERE w.ticket = each;
        END IF;
    END LOOP;
    RETURN number;
EXCEPTION WHEN deadlock_detected OR lock_not_available THEN
    RETURN 0;
END $$;

-- Gives up waiting: this ticket, or all of the owner's.
CREATE FUNCTION rowlock.withdraw(ticket bigint, owner text) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM pg_catalog.set_config('synchronous_commit', 'off', true);
    DELETE FROM rowlock.waiter w WHERE w.owner = withdraw.owner AND withdraw.ticket IN (0, w.ticket);
    PERFORM rowlock.drop_lost_mark();
    PERFORM rowlock.drop_mark(ticket);
END $$;

-- Which names do transactions hold? The server tells of a lock its key alone, so it can be said only of a
-- name that stands in some table.
CREATE FUNCTION rowlock.locked_names() RETURNS TABLE (name text) LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN QUERY
        WITH locked AS MATERIALIZED (SELECT k.classid::bigint << 32 | k.objid::bigint AS key
                          FROM pg_catalog.pg_locks k
                         WHERE k.locktype = 'advisory' AND k.granted AND k.objsubid = 1
                           AND k.database = (SELECT d.oid FROM pg_catalog.pg_database d
                                              WHERE d.datname = pg_catalog.current_database()))
        SELECT n.name FROM rowlock.names n
         WHERE EXISTS (SELECT FROM locked) AND n.key IN (SELECT k.key FROM locked k);
END $$;

-- Everybody who holds and waits, of one name or (NULL) of all; who is dead is left out.
CREATE FUNCTION rowlock.list(name text)
RETURNS TABLE (state text, lock_name text, mode text, token bigint, ticket bigint, owner text, host text, pid bigint,
               command text, note text, since_ms bigint, expires_ms bigint, left_ms bigint, "limit" integer,
               "count" integer, stop boolean)
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN QUERY
        SELECT 'held', l.name::text, pg_catalog.max(l.mode), l.token, 0::bigint, pg_catalog.max(l.owner), pg_catalog.max(l.host),
               pg_catalog.max(l.pid), pg_catalog.max(l.command), pg_catalog.max(l.note),
               pg_catalog.max((extract(epoch FROM l.acquired)::numeric * 1000.0)::bigint),
               pg_catalog.max((extract(epoch FROM b.expires)::numeric * 1000.0)::bigint),
               pg_catalog.max((extract(epoch FROM b.expires - pg_catalog.clock_timestamp())::numeric * 1000.0)::bigint),
               pg_catalog.max(l."limit"), pg_catalog.count(*)::integer, pg_catalog.bool_or(b.stop)
          FROM rowlock.lease l JOIN rowlock.beat b ON b.token = l.token
         WHERE (list.name IS NULL OR l.name = list.name COLLATE "C") AND b.expires > pg_catalog.clock_timestamp()
         GROUP BY l.name, l.token ORDER BY l.name, l.token;
    IF list.name IS NOT NULL THEN
        RETURN QUERY
            SELECT 'transaction', list.name, t.mode, 0::bigint, 0::bigint, NULL::text, t.host, t.pid, t.program, NULL::text,
                   (extract(epoch FROM t.since)::numeric * 1000.0)::bigint, NULL::bigint, NULL::bigint, NULL::integer, 1, false
              FROM rowlock.transactions(list.name) t;
    ELSE
        RETURN QUERY
            SELECT 'transaction', k.name, t.mode, 0::bigint, 0::bigint, NULL::text, t.host, t.pid, t.program, NULL::text,
                   (extract(epoch FROM t.since)::numeric * 1000.0)::bigint, NULL::bigint, NULL::bigint, NULL::integer, 1, false
              FROM rowlock.locked_names() k, LATERAL rowlock.transactions(k.name) t ORDER BY k.name;
    END IF;
    RETURN QUERY
        WITH marked AS MATERIALIZED (SELECT k.classid, k.objid FROM pg_catalog.pg_locks k
                         WHERE k.locktype = 'advisory' AND k.granted AND k.objsubid = 1
                           AND k.database = (SELECT d.oid FROM pg_catalog.pg_database d
                                              WHERE d.datname = pg_catalog.current_database()))
        SELECT 'waiting', w.name::text, w.mode, 0::bigint, w.ticket, w.owner, w.host, w.pid, w.command, w.note,
               (extract(epoch FROM w.since)::numeric * 1000.0)::bigint, NULL::bigint, NULL::bigint, w."limit", w."count", false
          FROM rowlock.waiter w
         WHERE (list.name IS NULL OR w.name = list.name COLLATE "C")
           AND CASE WHEN w.seen IS NOT NULL THEN w.seen > pg_catalog.clock_timestamp()
                    ELSE (((rowlock.session_key(w.ticket) >> 32) & 4294967295)::oid, (rowlock.session_key(w.ticket) & 4294967295)::oid)
                         IN (SELECT m.classid, m.objid FROM marked m) END
         ORDER BY w.name, w.ticket;
END $$;
