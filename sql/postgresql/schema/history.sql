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
DO $$
BEGIN
    IF pg_catalog.to_regclass('rowlock.history_good') IS NULL THEN
        CREATE INDEX history_good ON rowlock.history (ended) WHERE how = 'released';
    END IF;
    IF pg_catalog.to_regclass('rowlock.history_bad') IS NULL THEN
        CREATE INDEX history_bad ON rowlock.history (ended) WHERE how <> 'released';
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
    SELECT {history_rules} INTO rules;
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

-- Writes a row of the history: of a lease that ends, or a ticket that is withdrawn (token and
-- acquired NULL), if the level includes it. The lease of a run has its row in rowlock.run. Ignores
-- every error, because none may prevent the end of the lease. Without a name it writes nothing.
CREATE FUNCTION rowlock.log(name text, mode text, permits integer, token bigint, host text,
                            pid bigint, command text, note text, acquired timestamptz,
                            waited bigint, ended timestamptz, how text) RETURNS void
LANGUAGE plpgsql VOLATILE
SET lock_timeout = '250ms' SET exit_on_error = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    INSERT INTO rowlock.history (name, mode, permits, token, host, pid, command, note, acquired,
                                 waited, ended, how)
    SELECT log.name, log.mode, log.permits, log.token, log.host, log.pid, log.command, log.note,
           log.acquired, log.waited, greatest(log.ended, log.acquired), log.how
     WHERE CASE coalesce((SELECT s.history FROM rowlock.setting s), 'slow')
               WHEN 'off' THEN false
               WHEN 'all' THEN true
               WHEN 'slow' THEN log.how IN ('expired', 'revoked') OR log.waited >= 1000
                   OR log.ended - log.acquired >= interval '10 s'
               ELSE log.how IN ('expired', 'revoked') OR log.how = 'gave up' AND log.waited >= 1000
               END
       AND log.name IS NOT NULL
       AND (pg_catalog.left(log.name, 4) <> 'job:'
            OR NOT EXISTS (SELECT FROM rowlock.run r WHERE r.token = log.token));
    IF FOUND AND pg_catalog.random() < 0.004::double precision THEN
        PERFORM rowlock.prune(1000);
    END IF;
EXCEPTION WHEN OTHERS OR query_canceled OR assert_failure THEN
    NULL;
END $$;
