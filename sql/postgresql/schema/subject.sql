-- SPDX-License-Identifier: Apache-2.0
-- Subjects: data that is refreshed exactly once when it is stale, while all its users wait. A
-- refresh holds the lock subject:NAME exclusively, in a transaction or as a lease; users hold it
-- shared. The row shows the state of the refresh to people and to the next caller. Times are
-- milliseconds since 1970 UTC. Lock order of rows: lease, then subject.

CREATE TABLE rowlock.subject (
    name text COLLATE "C" PRIMARY KEY,
    version bigint NOT NULL DEFAULT 0,     -- increases with each refresh that begins
    status text NOT NULL DEFAULT 'NONE' CHECK (status IN ('NONE', 'PROCESSING', 'COMPLETE',
                                                          'ERROR')),
    description text,
    began bigint,                          -- of the last refresh,
    ended bigint,
    basis bigint,                          -- start of the refresh that made the present data
    updated bigint,
    host text,
    pid bigint,
    program text,
    -- of its lease; 0: it runs in a transaction, the one below
    token bigint NOT NULL DEFAULT 0,
    writer xid8,
    error text,
    exit integer                           -- 128 + N: terminated by signal N
);

-- Data of a refresh that began no later than this counts as stale. It is a separate table because a
-- refresh in a transaction has the row above locked.
CREATE TABLE rowlock.expiry (
    name text COLLATE "C" PRIMARY KEY,
    expired bigint NOT NULL
);

-- stale 1: the data is older than max_age_ms (< 0: any age is fine), has expired, or no refresh was
-- completed. Data more than max_age_ms in the future is stale too: the clock was set back. age_ms
-- NULL: never refreshed.
CREATE FUNCTION rowlock.judge_subject(name text, max_age_ms bigint, OUT stale integer,
                                      OUT age_ms bigint)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    now_ms constant bigint := {now_ms};
BEGIN
    SELECT CASE WHEN s.status = 'COMPLETE' AND s.basis > coalesce(e.expired, -1)
                     AND (max_age_ms < 0 OR greatest(now_ms - s.updated, 0) < max_age_ms
                                        AND s.updated - now_ms <= max_age_ms) THEN 0 ELSE 1 END,
           CASE WHEN s.updated IS NOT NULL THEN greatest(now_ms - s.updated, 0) END
      INTO stale, age_ms
      FROM rowlock.subject s LEFT JOIN rowlock.expiry e ON e.name = s.name
     WHERE s.name = judge_subject.name COLLATE "C";
END $$;

-- Begins a refresh, under the lock, in the transaction that does it or that grants the lease
-- `token` for it. Judges as judge_subject, and sets a stale subject to PROCESSING. A repeated call
-- under one token returns the same.
CREATE FUNCTION rowlock.begin_subject(name text, max_age_ms bigint, token bigint, description text,
                                      host text, pid bigint, program text, OUT stale integer,
                                      OUT age_ms bigint, OUT version bigint)
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    INSERT INTO rowlock.subject (name) VALUES (begin_subject.name) ON CONFLICT DO NOTHING;
    SELECT j.stale, j.age_ms INTO stale, age_ms FROM rowlock.judge_subject(name, max_age_ms) j;
    IF stale = 1 THEN
        UPDATE rowlock.subject s
           SET version = s.version + 1, status = 'PROCESSING', ended = NULL, error = NULL,
               exit = NULL,
               began = greatest({now_ms}, (SELECT e.expired + 1 FROM rowlock.expiry e
                                                           WHERE e.name = begin_subject.name
                                                               COLLATE "C")),
               description = coalesce(begin_subject.description, s.description),
               host = begin_subject.host, pid = begin_subject.pid, program = begin_subject.program,
               token = begin_subject.token,
               writer = CASE WHEN begin_subject.token = 0 THEN pg_catalog.pg_current_xact_id() END
         WHERE s.name = begin_subject.name COLLATE "C"
           AND (begin_subject.token = 0 OR s.token <> begin_subject.token
                OR s.status <> 'PROCESSING');
    END IF;
    SELECT s.version INTO version FROM rowlock.subject s
     WHERE s.name = begin_subject.name COLLATE "C";
END $$;

-- For SQL clients, in an open transaction. NULL: the data is fresh. 0: not locked within `wait`.
-- Otherwise the version, and the subject is locked until the transaction ends. An unknown subject
-- gets its row under the lock, so that no caller waits for another's row.
CREATE FUNCTION rowlock.refresh(
    name text, max_age interval DEFAULT NULL, wait interval DEFAULT NULL, host text DEFAULT NULL,
    pid bigint DEFAULT NULL, program text DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    locked constant text := 'subject:' || nullif(name COLLATE "default", '');
    max_age_ms constant bigint := coalesce(
        greatest(0, least(9223372036854775807.0, pg_catalog.ceil({in_ms max_age}))), -1)::bigint;
    begun record;
BEGIN
    PERFORM rowlock.check_use(locked), rowlock.check_about(host, program, NULL);
    IF (SELECT j.stale FROM rowlock.judge_subject(name, max_age_ms) j) = 0 THEN
        RETURN NULL;
    ELSIF wait IS NULL THEN
        PERFORM rowlock.exclusive(locked);
    ELSIF NOT rowlock.try_exclusive(locked, wait) THEN
        RETURN 0;
    END IF;
    SELECT b.stale, b.version INTO begun FROM rowlock.begin_subject(
        name, max_age_ms, 0, NULL,
        coalesce(host, pg_catalog.host(pg_catalog.inet_client_addr()), '[local]'), pid,
        coalesce(program, nullif(pg_catalog.current_setting('application_name'), ''))) b;
    RETURN CASE WHEN begun.stale = 1 THEN begun.version END;
END $$;
COMMENT ON FUNCTION rowlock.refresh(text, interval, interval, text, bigint, text) IS
    'Begins a refresh in the open transaction, if the data is older than max_age (NULL: fresh at '
    'any age). NULL: it is fresh. 0: not locked within wait (NULL: waits as rowlock.exclusive '
    'does). Otherwise refresh the data, and call rowlock.refreshed with this version before '
    'COMMIT.';

CREATE FUNCTION rowlock.refreshed(name text, version bigint) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    WITH asked AS (SELECT refreshed.name AS name, refreshed.version AS version)
    {completed_for asked};
    IF NOT FOUND THEN
        RAISE EXCEPTION 'rowlock: this transaction does not refresh "%"', name
            USING ERRCODE = 'RL005',
                HINT = 'The transaction that began the refresh was committed or rolled back: roll '
                'back, and refresh it again.';
    END IF;
END $$;
COMMENT ON FUNCTION rowlock.refreshed(text, bigint) IS
    'Completes the refresh that rowlock.refresh began in this transaction: the data is fresh from '
    'COMMIT on.';

-- Records a failure, after the refreshing transaction was rolled back: 1. 0: another caller has
-- refreshed it since, or failed. 2: the row is locked, by another refresh or because that rollback
-- is not finished.
CREATE FUNCTION rowlock.fail_subject(name text, version bigint, description text, host text,
                                     pid bigint, program text, error text) RETURNS integer
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM FROM rowlock.subject s
      WHERE s.name = fail_subject.name COLLATE "C"
        AND (s.version = fail_subject.version - 1
             OR s.version = fail_subject.version AND s.status = 'PROCESSING' AND s.token = 0);
    IF NOT FOUND THEN
        RETURN 0;
    END IF;
    PERFORM FROM rowlock.subject s
      WHERE s.name = fail_subject.name COLLATE "C"
        AND (s.version = fail_subject.version - 1
             OR s.version = fail_subject.version AND s.status = 'PROCESSING' AND s.token = 0)
        FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN 2;
    END IF;
    UPDATE rowlock.subject s
       SET version = fail_subject.version, status = 'ERROR', began = NULL, ended = {now_ms},
           description = coalesce(fail_subject.description, s.description),
           host = fail_subject.host, pid = fail_subject.pid, program = fail_subject.program,
           token = 0, writer = NULL,
           error = fail_subject.error, exit = NULL
     WHERE s.name = fail_subject.name COLLATE "C";
    RETURN 1;
END $$;

-- Ends the lease of a refresh and records its result: 0; 8: the lease was lost, so the result does
-- not count.
CREATE FUNCTION rowlock.finish_subject(name text, token bigint, failed integer, error text,
                                       exit integer, session bigint)
RETURNS integer LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    held boolean;
    now_ms bigint;
BEGIN
    {durable};
    held := rowlock.end_lease(token, session => session);
    now_ms := {now_ms};
    UPDATE rowlock.subject s
       SET status = CASE WHEN held AND failed = 0 THEN 'COMPLETE' ELSE 'ERROR' END, ended = now_ms,
           updated = CASE WHEN held AND failed = 0 THEN now_ms ELSE s.updated END,
           basis = CASE WHEN held AND failed = 0 THEN s.began ELSE s.basis END,
           error = CASE WHEN held THEN finish_subject.error
               ELSE 'its lease was lost before it finished' END,
           exit = finish_subject.exit
     WHERE s.name = finish_subject.name COLLATE "C" AND s.token = finish_subject.token
       AND s.status = 'PROCESSING';
    RETURN CASE WHEN held THEN 0 ELSE 8 END;
END $$;

-- For programs that do not use rowlock: LOCK TABLE in the open transaction. shared: others may read
-- and lock it in the same way, no other writes; not shared: others may only read. Waits wait_ms (0:
-- does not wait, < 0: no limit).
CREATE FUNCTION rowlock.lock_table(name text, shared boolean, wait_ms bigint) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    saved constant text := pg_catalog.current_setting('lock_timeout');
    found regclass := pg_catalog.to_regclass(name);
    until constant timestamptz := {after wait_ms};
BEGIN
    IF found IS NULL THEN
        RAISE EXCEPTION 'rowlock: table % does not exist', name USING ERRCODE = 'RL003';
    END IF;
    IF wait_ms <> 0 THEN
        {wait_until until};
    END IF;
    EXECUTE pg_catalog.format('LOCK TABLE %s IN %s MODE%s', found, CASE WHEN shared THEN 'SHARE'
                              ELSE 'EXCLUSIVE' END,
                   CASE WHEN wait_ms = 0 THEN ' NOWAIT' ELSE '' END);
    PERFORM pg_catalog.set_config('lock_timeout', saved, true);
END $$;
