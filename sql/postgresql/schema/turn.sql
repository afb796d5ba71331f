-- SPDX-License-Identifier: Apache-2.0
-- Waits for one exclusive lease and acquires it in one round trip, because everything between the
-- end of one lease and the start of the next delays the whole queue. place and grant handle all
-- unusual cases.

-- Grants the lease of a free name to the ticket that is first, under the name lock, as grant_any
-- does but in as few statements as possible. NULL if the ticket is not first or a lease exists.
CREATE FUNCTION rowlock.grant_first(name text, owner text, ttl_ms bigint, ticket bigint,
                                    session bigint,
                              host text, pid bigint, command text, note text) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    drawn bigint;
    waiting_ms bigint;
    quiet_ms bigint;
BEGIN
    SELECT n.number, n.quiet_ms,
           greatest(0, ({in_ms pg_catalog.clock_timestamp() - n.since})::bigint)
      INTO drawn, quiet_ms, waiting_ms
      FROM (SELECT pg_catalog.nextval('rowlock.number') AS number, s.token AS least, m.since,
                   o.quiet_ms
              FROM rowlock.lift o
              JOIN rowlock.waiter m ON m.name = grant_first.name COLLATE "C"
                                   AND m.ticket = grant_first.ticket
              LEFT JOIN rowlock.least_token s ON s.name = grant_first.name COLLATE "C"
             WHERE {unheld grant_first.name COLLATE "C"}
               AND NOT EXISTS (SELECT FROM rowlock.waiter w
                                WHERE w.name = grant_first.name COLLATE "C"
                                  AND (w.name, w.ticket)
                                    < (grant_first.name COLLATE "C", grant_first.ticket))) n
     WHERE n.number > greatest(pg_catalog.pg_sequence_last_value('rowlock.lifted'), n.least,
                               0::bigint);
    IF drawn % 127::bigint = 0 THEN
        PERFORM rowlock.store_least(name, drawn);
    END IF;
    INSERT INTO rowlock.lease (token, name, mode, owner, host, pid, command, note, waited, expires,
                               quiet_until)
    SELECT drawn, grant_first.name, 'exclusive', grant_first.owner, grant_first.host,
           grant_first.pid, grant_first.command, grant_first.note, waiting_ms,
           pg_catalog.clock_timestamp() + {interval ttl_ms},
           CASE WHEN waiting_ms >= 1000 THEN '-infinity'::timestamptz
               ELSE pg_catalog.clock_timestamp() + {interval quiet_ms} END
     WHERE drawn IS NOT NULL;
    DELETE FROM rowlock.waiter w
     WHERE w.name = grant_first.name COLLATE "C" AND w.ticket = grant_first.ticket
       AND drawn IS NOT NULL;
    IF session = pg_catalog.pg_backend_pid() AND drawn IS NOT NULL THEN
        PERFORM rowlock.session_lock(drawn), rowlock.session_unlock(ticket);
    END IF;
    RETURN drawn;
END $$;

-- Returns the milliseconds until that time, from 1 to 1000.
CREATE FUNCTION rowlock.time_left(until timestamptz) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    RETURN greatest(1, least(1000, ({in_ms until - pg_catalog.clock_timestamp()})::bigint));
END $$;

-- See dialect.h, turn. Waits until the ticket directly ahead (kind 0), or the conflicting token
-- (1), releases its session lock; after a ticket also, up to a second, until the lease ends. It
-- changes nothing unless it acquires the lease.
CREATE FUNCTION rowlock.turn(wants text, owner text, ttl_ms bigint, limit_ms bigint, ticket bigint,
                             session bigint, host text, pid bigint, command text, note text,
                             kind integer, awaited bigint,
                             OUT status integer, OUT name text, OUT token bigint,
                             OUT number bigint, OUT detail text)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    one constant text := {from_hex pg_catalog.left(wants, -6)};
    until constant timestamptz := rowlock.after(rowlock.slice(limit_ms));
    left_ms bigint;
BEGIN
    status := 2;
    number := awaited;
    PERFORM pg_catalog.set_config('plan_cache_mode', 'force_generic_plan', true),
            pg_catalog.set_config('idle_in_transaction_session_timeout', '2000', true),
            rowlock.make_durable();
    IF rowlock.await(1, awaited, limit_ms, ticket) = 0 THEN
        RETURN;
    ELSIF kind = 0 THEN
        SELECT w.ticket INTO number FROM rowlock.waiter w
         WHERE w.name = one COLLATE "C" AND (w.name, w.ticket) < (one COLLATE "C", turn.ticket)
         ORDER BY w.ticket DESC LIMIT 1;
        IF FOUND THEN
            status := 11;
            RETURN;
        END IF;
        SELECT l.token, pg_catalog.ceil({in_ms l.expires - pg_catalog.clock_timestamp()})
          INTO number, left_ms
          FROM (SELECT l.token, {expires_of l} AS expires
                  FROM rowlock.lease l
                 WHERE {leases_named one COLLATE "C"}
                OFFSET 0) l
         ORDER BY l.expires LIMIT 1;
        IF FOUND AND rowlock.await(1, number, least(left_ms, rowlock.time_left(until)), ticket) = 0
            THEN
            RETURN;
        END IF;
    END IF;
    status := CASE WHEN ticket = -1 OR rowlock.try_name_lock(one, false) = 0 THEN 0
                   ELSE (SELECT t.status
                         FROM rowlock.wait_all(wants, owner, rowlock.time_left(until)) t) END;
    IF status = 0 THEN
        token := rowlock.grant_first(one, owner, ttl_ms, ticket, session, host, pid, command, note);
        status := CASE WHEN token IS NULL THEN 3 ELSE 0 END;
    ELSE
        status := 1;
    END IF;
END $$;

-- Runs the statements of a turn, a renewal and a release once in this session without effect, so
-- that they are planned before they are needed between two leases. No name is '', and no number is
-- 0 or -1; turn takes no name lock for the ticket -1. The arguments have the collation "C" because
-- those of the library have it, from convert_from, and the server compiles a function again for
-- another collation. turn and release_lease force generic plans: otherwise the server would make
-- five custom plans first.
CREATE FUNCTION rowlock.warm_up() RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF pg_catalog.current_setting('rowlock.rehearsed', true) IS DISTINCT FROM '1' THEN
        PERFORM rowlock.turn(':x:0:0' COLLATE "C", '', 0, 0, -1, 0, '', 0, '', '', 0, 0),
                rowlock.session_unlock(0),
                rowlock.renew_lease(0, 0, '' COLLATE "C", ''),
                rowlock.release_lease(0, '' COLLATE "C", ''),
                rowlock.log_release(NULL::rowlock.lease),
                pg_catalog.set_config('rowlock.rehearsed', '1', false);
    END IF;
END $$;
