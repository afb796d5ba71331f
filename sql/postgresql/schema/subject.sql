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
    now_ms constant bigint := rowlock.now_ms();
BEGIN
    SELECT CASE WHEN s.status = 'COMPLETE' AND s.basis > coalesce(e.expired, -1)
                     AND (max_age_ms < 0 OR greatest(now_ms - s.updated, 0) < max_age_ms
                                        AND s.updated - now_ms <= max_age_ms) THEN 0 ELSE 1 END,
           CASE WHEN s.updated IS NOT NULL THEN greatest(now_ms - s.updated, 0) END
      INTO stale, age_ms
      FROM rowlock.subject s LEFT JOIN rowlock.expiry e ON e.name = s.name
     WHERE s.name = judge_subject.name COLLATE "C";
END $$;

-- The same before any lock: a caller that finds fresh data waits for no lock. An unknown subject
-- gets a row, so that no transaction needs to insert one.
CREATE FUNCTION rowlock.look_at_subject(name text, max_age_ms bigint, OUT stale integer,
                                        OUT age_ms bigint)
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    SELECT j.stale, j.age_ms INTO stale, age_ms FROM rowlock.judge_subject(name, max_age_ms) j;
    IF stale IS NULL THEN
        INSERT INTO rowlock.subject (name) VALUES (look_at_subject.name) ON CONFLICT DO NOTHING;
        stale := 1;
    END IF;
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
               began = greatest(rowlock.now_ms(), (SELECT e.expired + 1 FROM rowlock.expiry e
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

-- Completes a refresh in the transaction that began it; otherwise 8: that transaction was committed
-- or rolled back without completing it.
CREATE FUNCTION rowlock.complete_subject(name text, version bigint) RETURNS integer
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    now_ms constant bigint := rowlock.now_ms();
BEGIN
    UPDATE rowlock.subject s
       SET status = 'COMPLETE', ended = now_ms, updated = now_ms, basis = s.began
     WHERE s.name = complete_subject.name COLLATE "C" AND s.version = complete_subject.version
       AND s.status = 'PROCESSING' AND s.token = 0 AND s.writer = pg_catalog.pg_current_xact_id();
    RETURN CASE WHEN FOUND THEN 0 ELSE 8 END;
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
    IF rowlock.complete_subject(name, version) <> 0 THEN
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
       SET version = fail_subject.version, status = 'ERROR', began = NULL, ended = rowlock.now_ms(),
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
                                       exit integer)
RETURNS integer LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    held boolean;
    now_ms bigint;
BEGIN
    PERFORM rowlock.make_durable();
    held := rowlock.remove_lease(token);
    now_ms := rowlock.now_ms();
    UPDATE rowlock.subject s
       SET status = CASE WHEN held AND failed = 0 THEN 'COMPLETE' ELSE 'ERROR' END, ended = now_ms,
           updated = CASE WHEN held AND failed = 0 THEN now_ms ELSE s.updated END,
           basis = CASE WHEN held AND failed = 0 THEN s.began ELSE s.basis END,
           error = CASE WHEN held THEN finish_subject.error
               ELSE 'its lease was lost before it finished' END,
           exit = finish_subject.exit
     WHERE s.name = finish_subject.name COLLATE "C" AND s.token = finish_subject.token
       AND s.status = 'PROCESSING';
    PERFORM rowlock.session_unlock(token);
    RETURN CASE WHEN held THEN 0 ELSE 8 END;
END $$;

-- Makes the data of every refresh that has begun so far stale. 1; 0: unknown subject.
CREATE FUNCTION rowlock.expire(name text) RETURNS integer LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    INSERT INTO rowlock.expiry AS e (name, expired)
    SELECT s.name, greatest(rowlock.now_ms(), s.began) FROM rowlock.subject s
     WHERE s.name = expire.name COLLATE "C"
        ON CONFLICT
            ON CONSTRAINT expiry_pkey DO UPDATE SET expired = greatest(e.expired + 1,
                                                                       excluded.expired);
    RETURN FOUND::integer;
END $$;

-- Lists one subject or (NULL) all, for display. PROCESSING without a live refresh is shown as
-- ERROR. updated and age_ms NULL: there is no data, or it has expired.
CREATE FUNCTION rowlock.subjects(name text DEFAULT NULL)
RETURNS TABLE (subject text, description text, status text, began_ms bigint, ended_ms bigint,
               updated_ms bigint, age_ms bigint, program text, host text, pid bigint, error text,
               exit integer, made boolean)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    now_ms constant bigint := rowlock.now_ms();
BEGIN
    RETURN QUERY
        SELECT s.name, s.description, CASE WHEN d.died THEN 'ERROR' ELSE s.status END, s.began,
               s.ended, CASE WHEN s.basis > coalesce(e.expired, -1) THEN s.updated END,
               CASE WHEN s.basis > coalesce(e.expired, -1) THEN greatest(now_ms - s.updated, 0) END,
               s.program, s.host, s.pid,
               CASE WHEN d.died
                   AND s.token = 0 THEN 'its transaction was committed before it finished'
                    WHEN d.died THEN 'its holder died' ELSE s.error END,
               s.exit, s.basis IS NOT NULL
          FROM rowlock.subject s
          LEFT JOIN rowlock.expiry e ON e.name = s.name
         CROSS JOIN LATERAL (
             SELECT s.status = 'PROCESSING' AND NOT EXISTS (
                 SELECT FROM rowlock.lease l
                  WHERE l.token = s.token
                    AND {expires_of l} > pg_catalog.clock_timestamp()) AS died) d
         WHERE subjects.name IS NULL OR s.name = subjects.name COLLATE "C"
         ORDER BY s.name;
END $$;

-- For programs that do not use rowlock: LOCK TABLE in the open transaction. shared: others may read
-- and lock it in the same way, no other writes; not shared: others may only read. Waits wait_ms (0:
-- does not wait, < 0: no limit).
CREATE FUNCTION rowlock.lock_table(name text, shared boolean, wait_ms bigint) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    saved constant text := pg_catalog.current_setting('lock_timeout');
    found regclass := pg_catalog.to_regclass(name);
BEGIN
    IF found IS NULL THEN
        RAISE EXCEPTION 'rowlock: table % does not exist', name USING ERRCODE = 'RL003';
    END IF;
    IF wait_ms <> 0 THEN
        PERFORM rowlock.limit_wait(rowlock.after(wait_ms));
    END IF;
    EXECUTE pg_catalog.format('LOCK TABLE %s IN %s MODE%s', found, CASE WHEN shared THEN 'SHARE'
                              ELSE 'EXCLUSIVE' END,
                   CASE WHEN wait_ms = 0 THEN ' NOWAIT' ELSE '' END);
    PERFORM pg_catalog.set_config('lock_timeout', saved, true);
END $$;
