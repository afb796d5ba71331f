-- SPDX-License-Identifier: Apache-2.0
-- YugabyteDB's versions of functions in sql/postgresql/schema, based on its documentation. Each
-- function replaces the one with the same first line; its helper functions follow without an empty
-- line.
--
-- Differences from PostgreSQL: advisory locks exist since version 2025.1. READ COMMITTED is in
-- effect only if the servers are configured for it. Sequences do not count in order. There is no
-- xmin and no ctid. Its storage has no dead rows, so no name moves.

-- Raises an error if a lock here would be unsafe. A transaction above READ COMMITTED may not see
-- the changes of the previous holder; without yb_enable_read_committed_isolation every transaction
-- is above it.
CREATE FUNCTION rowlock.check_use(name text) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    asked constant text := pg_catalog.current_setting('transaction_isolation');
    given constant text := coalesce(pg_catalog.current_setting(
            'yb_effective_transaction_isolation_level', true), asked);
BEGIN
    IF pg_catalog.lower(given) NOT IN ('read committed', 'read uncommitted') THEN
        RAISE EXCEPTION
            'rowlock: a transaction at % may not see the changes of the previous lock holder',
            pg_catalog.upper(given)
            USING ERRCODE = 'RL001',
                  HINT = CASE WHEN asked IN ('read committed', 'read uncommitted')
                              THEN 'The cluster''s servers need the flag '
                                   'yb_enable_read_committed_isolation=true.'
                              ELSE 'Begin it with BEGIN ISOLATION LEVEL READ COMMITTED.' END;
    ELSIF name IS NULL
          OR pg_catalog.octet_length(pg_catalog.convert_to(name, 'UTF8')) NOT BETWEEN 1 AND 255 THEN
        RAISE EXCEPTION 'rowlock: a name must have 1 to 255 bytes of UTF-8'
            USING ERRCODE = 'RL003';
    END IF;
END $$;
-- Returns an identifier of the open transaction, which is valid until it ends.
CREATE FUNCTION rowlock.transaction() RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    known constant text := nullif(pg_catalog.current_setting('rowlock.transaction', true), '');
BEGIN
    RETURN coalesce(known, pg_catalog.set_config('rowlock.transaction', pg_catalog.md5(
        pg_catalog.random()::text || pg_catalog.clock_timestamp()::text
            || pg_catalog.pg_backend_pid()::text), true));
END $$;

-- Draws a token or a ticket from a row, in the order of commits: the row stays locked until COMMIT,
-- which serializes the grants of the whole database. The number is never behind the clock (2^20
-- numbers a second are more than any cluster commits), so that a restored backup repeats none.
CREATE FUNCTION rowlock.next_number(above bigint DEFAULT 0) RETURNS bigint
LANGUAGE plpgsql VOLATILE SET exit_on_error = off AS $$
DECLARE
    drawn bigint;
BEGIN
    UPDATE rowlock.origin o
       SET floor = greatest(o.floor + 1, above + 1,
                            (extract(epoch FROM pg_catalog.clock_timestamp())::numeric
                             * 1048576.0)::bigint)
     WHERE o.only_one RETURNING o.floor INTO drawn;
    RETURN drawn;
END $$;

-- No search is slow.
CREATE FUNCTION rowlock.move(name text, at bigint, token bigint, gated boolean) RETURNS bigint
LANGUAGE plpgsql VOLATILE SET enable_bitmapscan = off AS $$
BEGIN
    RETURN at;
END $$;

-- Nothing has moved.
CREATE FUNCTION rowlock.tidy(before timestamptz) RETURNS void
LANGUAGE plpgsql VOLATILE SET lock_timeout = '20ms' SET exit_on_error = off AS $$
BEGIN
END $$;

-- Deletes all rows of the history whose time has passed, because no physical address limits a batch
-- here. Returns their number, but always less than `batch`, so that a caller does not repeat it.
CREATE FUNCTION rowlock.prune(batch bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE SET exit_on_error = off AS $$
DECLARE
    rules record;
    now_ constant timestamptz := pg_catalog.clock_timestamp();
    removed bigint;
BEGIN
    SELECT {history_rules} INTO rules;
    DELETE FROM rowlock.history h
     WHERE h.ended < now_ - CASE h.how WHEN 'released' THEN {interval rules.keep_good}
                            ELSE {interval rules.keep_bad} END;
    GET DIAGNOSTICS removed = ROW_COUNT;
    RETURN least(removed, batch - 1);
EXCEPTION WHEN OTHERS THEN
    RETURN 0;
END $$;
