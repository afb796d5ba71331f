-- SPDX-License-Identifier: Apache-2.0
-- The history of leases that ended and of waiters that gave up (rowlock log). The transaction that
-- deletes a lease writes its row. A release before quiet_until writes none, so that it costs
-- nothing. The lease of a run has its row in rowlock.run instead.

CREATE TABLE rowlock.history (
    name     text COLLATE "C" NOT NULL,
    mode     text NOT NULL,
    permits  integer NOT NULL,
    token    bigint,                     -- NULL: a waiter that gave up
                                         -- negative: the caller that broke that lease
    host     text,
    pid      bigint,
    command  text,
    note     text,
    acquired timestamptz,                -- NULL: never
    waited   bigint NOT NULL,            -- milliseconds
    ended    timestamptz NOT NULL,
    how      text NOT NULL CHECK (how IN ('released', 'expired', 'revoked', 'gave up')),
    -- random, because a sequence begins again after a move by logical replication
    id       uuid PRIMARY KEY DEFAULT pg_catalog.gen_random_uuid()
);
-- each row is in one of them, so that prune reads only what it deletes
CREATE INDEX history_good ON rowlock.history (ended) WHERE how = 'released';
CREATE INDEX history_bad ON rowlock.history (ended) WHERE how <> 'released';

-- Returns the rules of the table setting, or the defaults.
CREATE FUNCTION rowlock.history_rules(OUT history text, OUT keep_good bigint, OUT keep_bad bigint)
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    SELECT s.history, s.keep_good, s.keep_bad INTO history, keep_good, keep_bad
      FROM rowlock.setting s;
    IF NOT FOUND THEN
        history := 'slow';
        keep_good := 86400000;
        keep_bad := 604800000;
    END IF;
END $$;

-- Deletes at most `batch` rows whose time has passed, and returns their number; 0 after any error,
-- such as a missing table or right. Waits for no lock.
CREATE FUNCTION rowlock.prune(batch bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE SET exit_on_error = off AS $$
DECLARE
    rules record;
    now_ constant timestamptz := pg_catalog.clock_timestamp();
    removed bigint;
    removed_bad bigint;
BEGIN
    SELECT * INTO rules FROM rowlock.history_rules();
    DELETE FROM rowlock.history h
     WHERE h.ctid = ANY (ARRAY(
        SELECT o.ctid FROM rowlock.history o
         WHERE o.how = 'released'
           AND o.ended < now_ - {interval rules.keep_good}
         ORDER BY o.ended LIMIT batch FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS removed = ROW_COUNT;
    DELETE FROM rowlock.history h
     WHERE h.ctid = ANY (ARRAY(
        SELECT o.ctid FROM rowlock.history o
         WHERE o.how <> 'released'
           AND o.ended < now_ - {interval rules.keep_bad}
         ORDER BY o.ended LIMIT batch - removed FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS removed_bad = ROW_COUNT;
    RETURN removed + removed_bad;
EXCEPTION WHEN OTHERS THEN
    RETURN 0;
END $$;

-- Describes how a lease ended, for the end of a sentence; NULL if the history does not know, or the
-- caller may not read it.
CREATE FUNCTION rowlock.how_ended(token bigint) RETURNS text
LANGUAGE plpgsql VOLATILE SET exit_on_error = off AS $$
BEGIN
    RETURN (SELECT CASE WHEN h.token < 0
                        THEN pg_catalog.concat_ws(' ', 'was broken', 'by ' || nullif(h.command, ''),
                                                  'on ' || h.host, '(pid ' || h.pid::text || ')')
                        WHEN h.how = 'revoked' THEN 'was broken'
                        WHEN h.how = 'expired' THEN 'has expired' ELSE 'was released' END
              FROM rowlock.history h
             WHERE h.token IN (how_ended.token, -how_ended.token) AND h.how <> 'gave up'
               AND h.ended > pg_catalog.clock_timestamp() - interval '1 h'
             ORDER BY h.token LIMIT 1); -- the caller that broke it has the negative token
EXCEPTION WHEN OTHERS THEN
    RETURN NULL;
END $$;

-- Writes the history of a lease that ends, if the level includes it; its lease rows must still
-- exist. Ignores every error, because none may prevent the deletion of the lease.
CREATE FUNCTION rowlock.log_end(token bigint, expires timestamptz, stop boolean) RETURNS void
LANGUAGE plpgsql VOLATILE SET lock_timeout = '250ms' SET exit_on_error = off AS $$
DECLARE
    level text;
    end_time constant timestamptz := least(expires, pg_catalog.clock_timestamp());
    ending constant text := CASE WHEN stop THEN 'revoked' WHEN end_time < expires THEN 'released'
                            ELSE 'expired' END;
BEGIN
    level := coalesce((SELECT s.history FROM rowlock.setting s), 'slow');
    IF level = 'off' OR level = 'problems' AND ending = 'released' THEN
        RETURN;
    END IF;
    INSERT INTO rowlock.history (name, mode, permits, token, host, pid, command, note, acquired,
                                 waited, ended, how)
    SELECT l.name, l.mode, l.permits, l.token, l.host, l.pid, l.command, l.note, l.acquired,
           l.waited, greatest(end_time, l.acquired), ending
      FROM (SELECT p.*, pg_catalog.count(*) OVER permit AS permits,
                   pg_catalog.row_number() OVER permit AS permit
              FROM (SELECT l.* FROM rowlock.lease l WHERE l.token = log_end.token OFFSET 0) p
            WINDOW permit AS (PARTITION BY p.name)) l
     WHERE l.permit = 1 -- one row of each name
       AND (pg_catalog.left(l.name, 4) <> 'job:'
            OR NOT EXISTS (SELECT FROM rowlock.run r WHERE r.token = l.token))
       AND (level = 'all' OR ending <> 'released' OR l.waited >= 1000
            OR end_time - l.acquired >= interval '10 s');
    IF pg_catalog.random() < 0.004::double precision THEN
        PERFORM rowlock.prune(1000);
    END IF;
EXCEPTION WHEN OTHERS OR query_canceled OR assert_failure THEN
    NULL;
END $$;

-- The same for a lease of one row that a release has deleted.
CREATE FUNCTION rowlock.log_release(gone rowlock.lease) RETURNS void
LANGUAGE plpgsql VOLATILE SET lock_timeout = '250ms' SET exit_on_error = off AS $$
DECLARE
    end_time constant timestamptz := pg_catalog.clock_timestamp();
BEGIN
    INSERT INTO rowlock.history (name, mode, permits, token, host, pid, command, note, acquired,
                                 waited, ended, how)
    SELECT gone.name, gone.mode, 1, gone.token, gone.host, gone.pid, gone.command, gone.note,
           gone.acquired, gone.waited, greatest(end_time, gone.acquired), 'released'
     WHERE gone.token > 0
       AND CASE coalesce((SELECT s.history FROM rowlock.setting s), 'slow')
               WHEN 'all' THEN true
               WHEN 'slow' THEN gone.waited >= 1000 OR end_time - gone.acquired >= interval '10 s'
               ELSE false END;
    IF pg_catalog.random() < 0.004::double precision THEN
        PERFORM rowlock.prune(1000);
    END IF;
EXCEPTION WHEN OTHERS OR query_canceled OR assert_failure THEN
    NULL;
END $$;

-- Writes the history of a ticket that is withdrawn, or (0) of all tickets of that owner. Below
-- level all a wait under a second leaves no row, because the caller may try again. Ignores every
-- error.
CREATE FUNCTION rowlock.log_waiter(ticket bigint, owner text) RETURNS void
LANGUAGE plpgsql VOLATILE SET lock_timeout = '250ms' SET exit_on_error = off AS $$
DECLARE
    rules record;
BEGIN
    SELECT * INTO rules FROM rowlock.history_rules();
    INSERT INTO rowlock.history (name, mode, permits, host, pid, command, note, waited, ended, how)
    SELECT w.name, w.mode, w."count", w.host, w.pid, w.command, w.note,
           greatest(0, ({in_ms pg_catalog.clock_timestamp() - w.since})::bigint),
           pg_catalog.clock_timestamp(), 'gave up'
      FROM rowlock.waiter w
     WHERE w.owner = log_waiter.owner AND log_waiter.ticket IN (0, w.ticket)
       AND (rules.history = 'all' OR rules.history <> 'off'
            AND pg_catalog.clock_timestamp() - w.since >= interval '1 s');
    IF FOUND AND pg_catalog.random() < 0.004::double precision THEN
        PERFORM rowlock.prune(1000);
    END IF;
EXCEPTION WHEN OTHERS OR query_canceled OR assert_failure THEN
    NULL;
END $$;
