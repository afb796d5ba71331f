-- SPDX-License-Identifier: Apache-2.0
-- Leases: grant, renew, release, check, break, and the fence.
--
-- A lease is granted under the name locks of its names (rowlock.name_lock), in a transaction that
-- commits at once. No session ignores a lease because its expiry time has passed: it deletes the
-- lease first. A row that remains is a conflict, because its renewal may be in progress. An
-- exclusive lease conflicts with every other; a shared one with all except shared ones; a permit
-- with exclusive and shared ones, and with permits beyond the limit. Statuses: those of
-- install.sql, and 11 queued, 12 not queued, 13 limits differ, 14 broken.

-- Numbers -----------------------------------------------------------------------------------------

-- Lifts the sequence above every number that this database may have drawn before a restore or a
-- failover. The clock gives 2^20 numbers a second, more than any server commits. The function adds
-- 65536, because a statement that found the origin valid may still be drawing, and setval must not
-- go back behind it. The error at the end rolls back the subtransaction: this releases the lock,
-- however the caller's transaction ends, and undoes no setval. The lift is recorded last, in case
-- the session ends in between.
CREATE FUNCTION rowlock.lift_numbers() RETURNS void
LANGUAGE plpgsql VOLATILE SET exit_on_error = off AS $$
DECLARE
    numbers record;
    lifted bigint;
BEGIN
    PERFORM pg_catalog.pg_advisory_xact_lock(8246125620394091380);
    -- statements after the wait, so that they see what other sessions lifted
    SELECT o.origin, f.last_value AS lifted_for, l.last_value AS floor, n.last_value INTO numbers
      FROM rowlock.lift o, rowlock.lifted_for f, rowlock.lifted l, rowlock.number n;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'rowlock: cannot draw a number: the table rowlock.origin is empty'
            USING ERRCODE = '55000',
                HINT = 'If no restore is under way: INSERT INTO rowlock.origin DEFAULT VALUES;';
    ELSIF numbers.lifted_for <> numbers.origin OR numbers.last_value <= numbers.floor THEN
        lifted := greatest(numbers.last_value + 65536, numbers.floor + 1,
                           (extract(epoch FROM pg_catalog.clock_timestamp())::numeric
                            * 1048576.0)::bigint);
        PERFORM pg_catalog.setval('rowlock.number', lifted);
        PERFORM pg_catalog.setval('rowlock.lifted', lifted);
        PERFORM pg_catalog.setval('rowlock.lifted_for', numbers.origin);
    END IF;
    RAISE EXCEPTION 'rowlock: lifted' USING ERRCODE = 'RL100';
EXCEPTION WHEN SQLSTATE 'RL100' THEN
    NULL;
END $$;

-- Draws a token or a ticket, greater than every earlier one, even after a crash, a restore or a
-- failover. A grant draws its token after it has taken all name locks.
CREATE FUNCTION rowlock.next_number() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    drawn bigint;
    lowest bigint;
BEGIN
    LOOP
        SELECT pg_catalog.nextval('rowlock.number'),
               coalesce(pg_catalog.pg_sequence_last_value('rowlock.lifted'), 0::bigint)
          INTO drawn, lowest FROM rowlock.lift o
         WHERE o.origin = pg_catalog.pg_sequence_last_value('rowlock.lifted_for');
        IF drawn > lowest THEN
            RETURN drawn;
        END IF;
        PERFORM rowlock.lift_numbers();
    END LOOP;
END $$;

-- Wanted names and conflicting leases -------------------------------------------------------------

-- Unpacks HEX(name):x|s|p:limit:count, joined by commas, in the order in which the names must be
-- locked. ROWS: otherwise the planner expects 1000, and joins them with all leases.
CREATE FUNCTION rowlock.unpack_lease(wants text)
RETURNS TABLE (name text, mode text, "limit" integer, "count" integer)
    LANGUAGE plpgsql VOLATILE ROWS 2 AS $$
BEGIN
    RETURN QUERY
        SELECT u.name, u.mode, u."limit", u."count"
          FROM (SELECT {from_hex w.part[1]} AS name,
                       CASE w.part[2] WHEN 'x' THEN 'exclusive' WHEN 's' THEN 'shared'
                           ELSE 'permit' END AS mode,
                       CASE w.part[2] WHEN 'p' THEN w.part[3]::integer END AS "limit",
                       CASE w.part[2] WHEN 'p' THEN w.part[4]::integer ELSE 1 END AS "count"
                  FROM (SELECT pg_catalog.string_to_array(x, ':') AS part
                          FROM pg_catalog.unnest(pg_catalog.string_to_array(wants, ',')) x) w) u
         ORDER BY rowlock.rank(u.name), u.name COLLATE "C";
END $$;

-- Checks for conflicting leases. 0: none; 3: a live one, and `number` is the token of the first to
-- expire; 4: only expired ones; 13: permits with another limit are held. by_clock false: every row
-- counts as live, because a row that survived a sweep may be renewed.
CREATE FUNCTION rowlock.look_lease(wants text, by_clock boolean, OUT status integer, OUT name text,
                                   OUT number bigint, OUT expires timestamptz, OUT detail text)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    want record;
    conflicts record;
BEGIN
    status := 0;
    FOR want IN SELECT * FROM rowlock.unpack_lease(wants) LOOP
        SELECT pg_catalog.count(*) AS rows,
               pg_catalog.count(*) FILTER (WHERE r.live) AS live,
               pg_catalog.count(*) FILTER (WHERE r.alike) AS permits,
               pg_catalog.count(*) FILTER (WHERE r.alike AND r.live) AS live_permits,
               pg_catalog.max(r."limit") FILTER (WHERE r.live AND r."limit" <> want."limit")
                   AS other_limit,
               pg_catalog.count(*) FILTER (WHERE r."limit" <> want."limit") AS other_limits,
               pg_catalog.min(r.expires) FILTER (WHERE r.live) AS expires,
               (pg_catalog.array_agg(r.token ORDER BY r.expires, r.token) FILTER (WHERE r.live))[1]
                   AS token
          INTO conflicts
          FROM (SELECT l.token, l."limit", l.expires, l.alike,
                       NOT by_clock
                           OR coalesce(l.expires > pg_catalog.clock_timestamp(), false) AS live
                  FROM (SELECT l.token, l."limit", {expires_of l} AS expires,
                               want.mode = 'permit' AND l.mode = 'permit' AS alike
                          FROM rowlock.lease l
                         WHERE {leases_named want.name}
                           AND NOT (want.mode = 'shared' AND l.mode = 'shared') OFFSET 0) l) r;
        IF conflicts.other_limit IS NOT NULL THEN
            status := 13;
            detail := pg_catalog.format('it is held with limit %s, but limit %s was requested',
                                        conflicts.other_limit, want."limit");
        ELSIF conflicts.live > conflicts.live_permits OR want.mode = 'permit'
              AND conflicts.live_permits + want."count" > want."limit" THEN
            status := 3;
        ELSIF conflicts.rows > conflicts.permits OR want.mode = 'permit'
              AND conflicts.permits + want."count" > want."limit"
              OR conflicts.other_limits > 0 THEN -- expired, but a renewal may be in progress
            status := greatest(status, 4);
            CONTINUE;
        ELSE
            CONTINUE;
        END IF;
        name := want.name;
        number := conflicts.token;
        expires := conflicts.expires;
        RETURN;
    END LOOP;
END $$;

-- Removes the conflicting leases that have expired: those of all names, in the order of their
-- tokens, under one savepoint. The caller has the name locks. Returns 0, 3 or 13 as look_lease.
CREATE FUNCTION rowlock.clear_lease(wants text, limit_ms bigint, OUT status integer, OUT name text,
                                    OUT number bigint, OUT expires timestamptz, OUT detail text)
LANGUAGE plpgsql VOLATILE SET exit_on_error = off AS $$
DECLARE
    dead bigint;
BEGIN
    SELECT k.* INTO status, name, number, expires, detail FROM rowlock.look_lease(wants, true) k;
    IF status <> 4 THEN
        RETURN;
    END IF;
    BEGIN
        PERFORM pg_catalog.set_config('lock_timeout', greatest(limit_ms, 1)::text, true);
        FOREACH dead IN ARRAY ARRAY(
            SELECT DISTINCT l.token
              FROM rowlock.unpack_lease(wants) w,
           LATERAL (SELECT l.token, {expires_of l} AS expires
                      FROM rowlock.lease l
                     WHERE l.name = w.name AND NOT (w.mode = 'shared' AND l.mode = 'shared')
                    OFFSET 0) l
             WHERE l.expires IS NULL OR l.expires <= pg_catalog.clock_timestamp()
             ORDER BY l.token) LOOP
            PERFORM rowlock.sweep(dead);
        END LOOP;
        SELECT k.* INTO status, name, number, expires, detail
          FROM rowlock.look_lease(wants, false) k;
        IF status <> 0 THEN
            RAISE EXCEPTION 'rowlock: still leased' USING ERRCODE = 'RL100';
        END IF;
    EXCEPTION
        WHEN SQLSTATE 'RL100' THEN
            NULL;
        WHEN lock_not_available OR deadlock_detected THEN
            status := 3;
            SELECT k.name, k.number INTO name, number FROM rowlock.look_lease(wants, false) k;
    END;
END $$;

-- The grant ---------------------------------------------------------------------------------------

-- Waits until no other transaction has called this for the owner. So a call finds what an earlier
-- one of the owner, whose reply was lost, may still be about to commit.
CREATE FUNCTION rowlock.lock_owner(owner text) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM pg_catalog.pg_advisory_xact_lock(
        pg_catalog.hashtextextended(owner, 8386112019297791602));
END $$;

-- Takes the name locks of all names: exclusive for exclusive leases and permits, shared for shared
-- leases where the technique has a shared mode. With a shared name lock it locks the owner too
-- (lock_owner): an exclusive one already separates its calls.
CREATE FUNCTION rowlock.name_lock_all(wants text, owner text, wait_ms bigint, OUT status integer,
                                      OUT name text)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    deadline constant timestamptz := rowlock.after(wait_ms);
    owner_key constant bigint := pg_catalog.hashtextextended(owner, 8386112019297791602);
    want record;
    in_common boolean;
BEGIN
    FOR want IN SELECT * FROM rowlock.unpack_lease(wants) LOOP
        name := want.name;
        PERFORM rowlock.check_use(name);
        in_common := want.mode = 'shared' AND rowlock.can_share();
        IF wait_ms <> 0 THEN
            PERFORM rowlock.limit_wait(deadline);
            IF in_common THEN
                PERFORM rowlock.lock_owner(owner);
            END IF;
            status := rowlock.name_lock(name, in_common);
        ELSIF in_common AND NOT pg_catalog.pg_try_advisory_xact_lock(owner_key) THEN
            status := 1;
        ELSE
            status := rowlock.try_name_lock(name, in_common);
        END IF;
        IF status <> 0 THEN
            RETURN;
        END IF;
    END LOOP;
    name := NULL;
END $$;

-- The same with a wait: a timeout is a status. (A try needs no savepoint for that.)
CREATE FUNCTION rowlock.wait_all(wants text, owner text, wait_ms bigint, OUT status integer,
                                 OUT name text)
LANGUAGE plpgsql VOLATILE SET exit_on_error = off AS $$
BEGIN
    SELECT t.status, t.name INTO status, name FROM rowlock.name_lock_all(wants, owner, wait_ms) t;
EXCEPTION WHEN lock_not_available THEN
    status := 2;
    SELECT w.name INTO name FROM rowlock.unpack_lease(wants) w LIMIT 1;
END $$;

-- Finds the lease that an earlier attempt of this call acquired, when its reply was lost, renews it
-- and returns its token; NULL: there is none. Releases it instead if it was broken since.
CREATE FUNCTION rowlock.adopt(wants text, owner text, ttl_ms bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    own bigint := (SELECT l.token
                     FROM rowlock.unpack_lease(wants) w,
                  LATERAL (SELECT l.token FROM rowlock.lease l
                            WHERE l.name = w.name AND l.owner = adopt.owner OFFSET 0) l LIMIT 1);
BEGIN
    IF own IS NULL THEN
        RETURN NULL;
    ELSIF rowlock.renew_lease(own, ttl_ms) = 0 THEN
        RETURN own;
    END IF;
    PERFORM rowlock.remove_lease(own);
    RETURN NULL;
END $$;

-- Returns for how many milliseconds the ticket has waited.
CREATE FUNCTION rowlock.waited(ticket bigint) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN (SELECT greatest(0,
                       ({in_ms pg_catalog.clock_timestamp() - pg_catalog.min(w.since)})::bigint)
              FROM rowlock.waiter w WHERE w.ticket = waited.ticket);
END $$;

-- Returns the time before which a release of a lease granted now leaves no row in the history. The
-- view reads the level with the rights of its owner, so that a grant needs no right on the table.
CREATE FUNCTION rowlock.quiet_until(waited bigint) RETURNS timestamptz
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN CASE WHEN waited >= 1000 THEN '-infinity'::timestamptz
                ELSE pg_catalog.clock_timestamp()
                     + {interval (SELECT o.quiet_ms FROM rowlock.lift o)} END;
END $$;

-- Stores the token of a grant as the least token of its name, if the search for leases is slow. The
-- caller has the exclusive name lock and has found no lease. It calls this for each token divisible
-- by 127, a prime, so that each of several names that alternate gets its turn. It grants that very
-- token: a grant that drew another one instead would never call this. The fastest of three searches
-- counts: the first of a session includes planning, and other processes may delay any.
CREATE FUNCTION rowlock.store_least(name text, token bigint) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    since timestamptz;
    fastest interval := '1 s';
BEGIN
    FOR attempt IN 1..3 LOOP
        since := pg_catalog.clock_timestamp();
        PERFORM FROM rowlock.lease l
          WHERE {leases_named store_least.name COLLATE "C"};
        fastest := least(fastest, pg_catalog.clock_timestamp() - since);
    END LOOP;
    IF fastest > interval '50 us' THEN
        -- a vacuum in an open transaction may have deleted the row: no grant waits for that
        UPDATE rowlock.least_token s SET token = store_least.token
         WHERE s.name = ANY (ARRAY(SELECT u.name FROM rowlock.least_token u
                                    WHERE u.name = store_least.name COLLATE "C"
                                      FOR UPDATE SKIP LOCKED));
        INSERT INTO rowlock.least_token (name, token)
        SELECT store_least.name, store_least.token
         WHERE NOT EXISTS (SELECT FROM rowlock.least_token s
                            WHERE s.name = store_least.name COLLATE "C");
    END IF;
END $$;

-- Makes every number from now on greater than this one, which another server has drawn: logical
-- replication carries leases, but no sequences. As in lift_numbers, the error at the end releases
-- the lock and undoes no setval.
CREATE FUNCTION rowlock.lift_above(foreign_number bigint) RETURNS void
LANGUAGE plpgsql VOLATILE SET exit_on_error = off AS $$
BEGIN
    PERFORM pg_catalog.pg_advisory_xact_lock(8246125620394091380);
    PERFORM pg_catalog.setval('rowlock.lifted', foreign_number)
       FROM rowlock.lifted l WHERE l.last_value < foreign_number;
    RAISE EXCEPTION 'rowlock: lifted' USING ERRCODE = 'RL100';
EXCEPTION WHEN SQLSTATE 'RL100' THEN
    NULL;
END $$;

-- A greater least token would hide a lease. So reveal_lease deletes it when a lease with a smaller
-- token is inserted: by a restore, by hand, or after the numbers were set back by hand. And
-- refuse_least skips the row of a least token that is greater than the token of a lease, such as a
-- restored one. Both are triggers, because they must act for every writer, a replication included.
-- Only the statement grant_free need not fire it: its token is new, and greater than the least one.
-- reveal_lease also notices a token that this server has not drawn.
-- After ENABLE TRIGGER ALL, which pg_restore --disable-triggers runs, they would not act for a
-- replication: then an install creates them again.
CREATE FUNCTION rowlock.reveal_lease() RETURNS trigger LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        DELETE FROM rowlock.least_token;
        RETURN NULL;
    END IF;
    DELETE FROM rowlock.least_token s WHERE s.name = NEW.name AND s.token > NEW.token;
    IF NEW.token > coalesce(pg_catalog.pg_sequence_last_value('rowlock.number'), 0::bigint) THEN
        PERFORM rowlock.lift_above(NEW.token);
    END IF;
    RETURN NEW;
END $$;
CREATE FUNCTION rowlock.refuse_least() RETURNS trigger LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF EXISTS (SELECT FROM rowlock.lease l
                WHERE l.name = NEW.name AND l.token + 0 < NEW.token
                  AND l.token + 0 >= coalesce(OLD.token, 0::bigint)) THEN
        RETURN NULL;
    END IF;
    RETURN NEW;
END $$;
DO $$
BEGIN
    IF (SELECT pg_catalog.count(*) FROM pg_catalog.pg_trigger t
         WHERE t.tgrelid = 'rowlock.lease'::regclass::oid AND t.tgenabled = 'A'::"char"
           AND (t.tgname = 'reveal_leases'
                OR t.tgname = 'reveal_lease' AND t.tgqual IS NOT NULL)) < 2 THEN
        DROP TRIGGER IF EXISTS reveal_lease ON rowlock.lease;
        CREATE TRIGGER reveal_lease BEFORE INSERT ON rowlock.lease
            FOR EACH ROW
            WHEN (pg_catalog.current_setting('rowlock.free', true) IS DISTINCT FROM 'true')
            EXECUTE FUNCTION rowlock.reveal_lease();
        DROP TRIGGER IF EXISTS reveal_leases ON rowlock.lease;
        CREATE TRIGGER reveal_leases BEFORE TRUNCATE ON rowlock.lease
            FOR EACH STATEMENT EXECUTE FUNCTION rowlock.reveal_lease();
        ALTER TABLE rowlock.lease ENABLE ALWAYS TRIGGER reveal_lease,
            ENABLE ALWAYS TRIGGER reveal_leases;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_trigger t
                    WHERE t.tgrelid = 'rowlock.least_token'::regclass::oid
                      AND t.tgname = 'refuse_least' AND t.tgenabled = 'A'::"char") THEN
        DROP TRIGGER IF EXISTS refuse_least ON rowlock.least_token;
        CREATE TRIGGER refuse_least BEFORE INSERT OR UPDATE ON rowlock.least_token
            FOR EACH ROW EXECUTE FUNCTION rowlock.refuse_least();
        ALTER TABLE rowlock.least_token ENABLE ALWAYS TRIGGER refuse_least;
    END IF;
END $$;

CREATE FUNCTION rowlock.insert_lease(token bigint, wants text, owner text, ttl_ms bigint,
                                     ticket bigint, host text, pid bigint, command text, note text)
RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    waiting_ms constant bigint := CASE WHEN ticket = 0 THEN 0 ELSE rowlock.waited(ticket) END;
BEGIN
    INSERT INTO rowlock.heartbeat (token, expires, quiet_until)
    VALUES (insert_lease.token, pg_catalog.clock_timestamp() + {interval ttl_ms},
            rowlock.quiet_until(waiting_ms));
    INSERT INTO rowlock.lease (token, name, n, mode, "limit", owner, host, pid, command, note,
                               waited)
    SELECT insert_lease.token, w.name, n, w.mode, w."limit", insert_lease.owner, insert_lease.host,
           insert_lease.pid, insert_lease.command, insert_lease.note, waiting_ms
      FROM rowlock.unpack_lease(wants) w, pg_catalog.generate_series(1, w."count") n;
END $$;

-- Makes the COMMIT of this transaction wait for the disk, whatever the role's default. Every grant
-- and every renewal calls this.
CREATE FUNCTION rowlock.make_durable() RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF pg_catalog.current_setting('synchronous_commit') NOT IN ('on', 'remote_apply') THEN
        PERFORM pg_catalog.set_config('synchronous_commit', 'on', true);
    END IF;
END $$;

-- See dialect.h, grant. wait_ms 0: the caller commits in the same round trip. Otherwise the client
-- commits in a second round trip: so a waiter that died meanwhile is never granted the lease, and
-- the server ends the session of one that is frozen after 2 s.
CREATE FUNCTION rowlock.grant_any(wants text, owner text, ttl_ms bigint, wait_ms bigint,
                                  ticket bigint, session bigint, host text, pid bigint,
                                  command text, note text,
                                  OUT status integer, OUT name text, OUT token bigint,
                                  OUT number bigint, OUT detail text)
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM rowlock.make_durable();
    token := rowlock.adopt(wants, owner, ttl_ms);
    IF token IS NOT NULL THEN
        status := 0;
    ELSIF wait_ms <> 0 THEN
        PERFORM pg_catalog.set_config('idle_in_transaction_session_timeout', '2000', true);
        SELECT t.status, t.name INTO status, name FROM rowlock.wait_all(wants, owner, wait_ms) t;
    ELSE
        SELECT t.status, t.name INTO status, name FROM rowlock.name_lock_all(wants, owner, 0) t;
    END IF;
    token := coalesce(token, rowlock.adopt(wants, owner, ttl_ms));
    IF token IS NOT NULL THEN
        status := 0;
        name := NULL;
    ELSIF status = 6 THEN
        detail := rowlock.leftover(name);
    ELSIF status = 0 THEN
        SELECT c.status, c.name, c.number, c.detail INTO status, name, number, detail
          FROM rowlock.clear_lease(wants, CASE WHEN wait_ms = 0 THEN 250 ELSE 1500 END) c;
        IF status = 0 THEN
            SELECT q.status, q.name, q.number, q.detail INTO status, name, number, detail
              FROM rowlock.look_queue(wants, ticket) q;
        END IF;
        IF status = 0 THEN
            token := rowlock.next_number();
            PERFORM rowlock.insert_lease(token, wants, owner, ttl_ms, ticket, host, pid, command,
                                         note);
        END IF;
    END IF;
    IF status = 0 THEN
        IF ticket <> 0 THEN
            DELETE FROM rowlock.waiter w WHERE w.ticket = grant_any.ticket;
        END IF;
        IF rowlock.is_own(session) THEN
            PERFORM rowlock.session_lock(token);
            PERFORM rowlock.session_unlock(ticket);
        END IF;
    END IF;
END $$;

-- The same, with a fast path in as few statements as possible: for one name, exclusively, without
-- waiting, when no lease conflicts and no waiter queues.
CREATE FUNCTION rowlock.grant_lease(wants text, owner text, ttl_ms bigint, wait_ms bigint,
                                    ticket bigint, session bigint, host text, pid bigint,
                                    command text, note text,
                                    OUT status integer, OUT name text, OUT token bigint,
                                    OUT number bigint, OUT detail text)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    one text;
    lowest bigint;
    quiet_ms bigint;
BEGIN
    IF wait_ms = 0 AND ticket = 0 AND pg_catalog.right(wants, 6) = ':x:0:0'
       AND pg_catalog.strpos(wants, ',') = 0
       AND pg_catalog.length(wants) BETWEEN 8 AND 516
       AND pg_catalog.current_setting('transaction_isolation') = 'read committed' THEN
        one := {from_hex pg_catalog.left(wants, -6)};
        IF rowlock.try_name_lock(one, false) = 0 THEN
            SELECT pg_catalog.nextval('rowlock.number'),
                   greatest(pg_catalog.pg_sequence_last_value('rowlock.lifted'), s.token,
                            0::bigint),
                   o.quiet_ms
              INTO token, lowest, quiet_ms
              FROM rowlock.lift o
              LEFT JOIN rowlock.least_token s ON s.name = one
             WHERE {unheld one}
               AND NOT EXISTS (SELECT FROM rowlock.waiter w WHERE w.name = one);
        END IF;
        IF token > lowest THEN
            IF pg_catalog.current_setting('synchronous_commit') <> 'on' THEN
                PERFORM rowlock.make_durable();
            END IF;
            IF token % 127::bigint = 0 THEN
                PERFORM rowlock.store_least(one, token);
            END IF;
            INSERT INTO rowlock.lease (token, name, mode, owner, host, pid, command, note, expires,
                                       quiet_until)
            VALUES (grant_lease.token, one, 'exclusive', grant_lease.owner, grant_lease.host,
                    grant_lease.pid, grant_lease.command, grant_lease.note,
                    pg_catalog.clock_timestamp() + {interval ttl_ms},
                    pg_catalog.clock_timestamp() + {interval quiet_ms});
            status := CASE WHEN session = pg_catalog.pg_backend_pid()
                AND rowlock.session_lock(token) THEN 0 ELSE 0 END;
            RETURN;
        END IF;
    END IF;
    SELECT g.* INTO status, name, token, number, detail
      FROM rowlock.grant_any(wants, owner, ttl_ms, wait_ms, ticket, session, host, pid, command,
                             note) g;
END $$;

-- While it is held --------------------------------------------------------------------------------

-- A lease is found by its token. COLLATE "default" keeps the planner from the index of names: a
-- search there would read all ended leases of the name while a snapshot of their time is open.

-- Makes sure that a lease has a heartbeat: until then the columns of its lease row count. Returns
-- false if there is no such lease, or it needed none. The lease row is locked, so that a sweep or a
-- release, which must delete it, waits; a fence and the lease's own transactions do not.
CREATE FUNCTION rowlock.make_heartbeat(token bigint) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    granted record;
BEGIN
    SELECT l.expires, l.quiet_until INTO granted FROM rowlock.lease l
     WHERE l.token = make_heartbeat.token AND l.expires IS NOT NULL FOR KEY SHARE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    INSERT INTO rowlock.heartbeat (token, expires, quiet_until)
    VALUES (make_heartbeat.token, granted.expires, granted.quiet_until) ON CONFLICT DO NOTHING;
    RETURN true;
END $$;

-- Renews a lease: 0, 8 lost, 14 broken. The row counts, not the clock: a takeover must delete the
-- lease. It never shortens the lease. A lease of another name or owner (NULL: any) counts as lost.
-- It does not wait for a fence.
CREATE FUNCTION rowlock.renew_lease(token bigint, ttl_ms bigint, name text DEFAULT NULL,
                                    owner text DEFAULT NULL)
RETURNS integer LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM rowlock.make_durable();
    FOR attempt IN 1..2 LOOP
        UPDATE rowlock.heartbeat b
           SET expires = greatest(b.expires, pg_catalog.clock_timestamp() + {interval ttl_ms})
         WHERE b.token = renew_lease.token AND NOT b.stop AND {is_of renew_lease};
        IF FOUND THEN
            RETURN 0;
        END IF;
        EXIT WHEN attempt = 2 OR NOT rowlock.make_heartbeat(token);
    END LOOP;
    RETURN CASE WHEN EXISTS (SELECT FROM rowlock.heartbeat b WHERE b.token = renew_lease.token) AND
                 {is_of renew_lease}
                THEN 14 ELSE 8 END;
END $$;

-- Ends a lease, expired or not, and writes the history if the end may belong there: of a lease that
-- is broken, has expired, or was held or waited for long. revoke: it counts as broken if it has not
-- expired. Returns false if it had ended, or has another name or owner (NULL: any).
CREATE FUNCTION rowlock.end_lease(token bigint, name text, owner text, revoke boolean)
RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    rows bigint;
    granted rowlock.heartbeat;
    ended rowlock.heartbeat;
BEGIN
    {sees_heartbeat token};
    SELECT pg_catalog.count(*), pg_catalog.max(k.expires), false, pg_catalog.max(k.quiet_until)
      INTO rows, granted.expires, granted.stop, granted.quiet_until
      FROM (SELECT l.expires, l.quiet_until FROM rowlock.lease l
             WHERE l.token = end_lease.token AND {is_of end_lease}
             ORDER BY l.n, l.name FOR UPDATE) k;
    IF rows = 0 THEN
        RETURN false;
    END IF;
    DELETE FROM rowlock.heartbeat b WHERE b.token = end_lease.token RETURNING b.* INTO ended;
    IF NOT FOUND THEN
        ended := granted;
    END IF;
    ended.stop := ended.stop OR revoke AND ended.expires > pg_catalog.clock_timestamp();
    IF (NOT ended.stop AND ended.quiet_until > pg_catalog.clock_timestamp()
        AND ended.expires > pg_catalog.clock_timestamp()) IS NOT TRUE THEN
        PERFORM rowlock.log_end(token, ended.expires, ended.stop);
    END IF;
    DELETE FROM rowlock.lease l WHERE l.token = end_lease.token;
    RETURN true;
END $$;

-- The same. It first tries what ends most leases: one that has no heartbeat, has not expired and
-- leaves no row in the history. A heartbeat that another session was just making is found after the
-- DELETE has waited for it, by a statement of its own.
CREATE FUNCTION rowlock.remove_lease(token bigint, name text DEFAULT NULL, owner text DEFAULT NULL)
RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    {sees_heartbeat token};
    DELETE FROM rowlock.lease l
     WHERE l.token = remove_lease.token
       AND (remove_lease.name IS NULL
            OR l.name COLLATE "default" = remove_lease.name
               AND (remove_lease.owner IS NULL OR l.owner = remove_lease.owner))
       AND l.quiet_until > pg_catalog.clock_timestamp()
       AND l.expires > pg_catalog.clock_timestamp()
       AND NOT EXISTS (SELECT FROM rowlock.heartbeat b WHERE b.token = remove_lease.token OFFSET 0);
    IF NOT FOUND THEN
        RETURN rowlock.end_lease(token, name, owner, false);
    END IF;
    DELETE FROM rowlock.heartbeat b WHERE b.token = remove_lease.token;
    RETURN true;
END $$;

-- Releases a lease: 0, or 8 if it was lost before. This is remove_lease and session_unlock written
-- out, because most leases end by it, and each function in it is looked up again in every
-- transaction. The release need not be on disk: after a crash of the server the lease expires.
CREATE FUNCTION rowlock.release_lease(token bigint, name text DEFAULT NULL, owner text DEFAULT NULL)
RETURNS integer LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    gone rowlock.lease;
    removed boolean;
BEGIN
    {sees_heartbeat token};
    IF pg_catalog.set_config('synchronous_commit', 'off', true) IS NOT NULL
       AND pg_catalog.set_config('plan_cache_mode', 'force_generic_plan', true) IS NOT NULL THEN
        DELETE FROM rowlock.lease l
         WHERE l.token = release_lease.token
           AND l.name COLLATE "default" = release_lease.name AND l.owner = release_lease.owner
           AND l.expires > pg_catalog.clock_timestamp()
           AND NOT EXISTS (SELECT FROM rowlock.heartbeat b
                            WHERE b.token = release_lease.token OFFSET 0)
               RETURNING l.* INTO gone;
    END IF;
    IF gone.token IS NULL THEN
        IF token <> 0 THEN -- it was renewed, has expired or is lost, or name or owner are NULL
            removed := rowlock.end_lease(token, name, owner, false);
            PERFORM rowlock.session_unlock(token);
            RETURN CASE WHEN removed THEN 0 ELSE 8 END;
        END IF;
    ELSE
        DELETE FROM rowlock.heartbeat b WHERE b.token = gone.token;
        IF gone.quiet_until <= pg_catalog.clock_timestamp() THEN
            PERFORM rowlock.log_release(gone);
        END IF;
    END IF;
    RETURN
      {session_unlocked token};
END $$;

CREATE FUNCTION rowlock.check_lease(
    name text, token bigint, OUT status integer, OUT left_ms bigint, OUT mode text, OUT owner text)
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    SELECT CASE WHEN b.stop THEN 14 ELSE 0 END,
           pg_catalog.floor({in_ms b.expires - pg_catalog.clock_timestamp()}),
           CASE l.mode WHEN 'exclusive' THEN 'x' WHEN 'shared' THEN 's' ELSE 'p' END, l.owner
      INTO status, left_ms, mode, owner
      FROM rowlock.lease l, {heartbeat_of l} b
     WHERE l.token = check_lease.token AND l.name COLLATE "default" = check_lease.name
       AND b.expires > pg_catalog.clock_timestamp()
     LIMIT 1;
    IF NOT FOUND THEN
        status := 8;
        left_ms := 0;
    END IF;
END $$;

-- See dialect.h, break. The lease of a finished job has no process that renews it: the rest of its
-- minimum hold (taken_until) ends at once.
CREATE FUNCTION rowlock.break(name text, token bigint, now boolean) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    each bigint;
    broken bigint := 0;
BEGIN
    FOR each IN SELECT DISTINCT l.token
                  FROM (SELECT l.token FROM rowlock.lease l
                         WHERE l.name = break.name COLLATE "C"
                           AND break.token IN (0, l.token) OFFSET 0) l
                 ORDER BY l.token LOOP
        IF now OR EXISTS (SELECT FROM rowlock.run r
                           WHERE r.token = each
                             AND r.outcome IN ('done', 'failed', 'timed out')) THEN
            broken := broken + rowlock.end_lease(each, NULL, NULL, true)::integer;
        ELSE
            PERFORM rowlock.make_heartbeat(each);
            UPDATE rowlock.heartbeat b SET stop = true WHERE b.token = each;
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

-- Keeps a lease valid until the caller's transaction ends: a session that ends the lease must
-- delete the row that this locks. The row alone decides, not the clock. Above READ COMMITTED the
-- server raises an error for a deleted row, which is caught so that the transaction survives.
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
        WHERE l.token = fence.token AND l.name COLLATE "default" = fence.name FOR SHARE;
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

DO $$ BEGIN PERFORM rowlock.lift_numbers(); END $$;
