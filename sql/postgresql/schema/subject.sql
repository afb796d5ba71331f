-- SPDX-License-Identifier: Apache-2.0
-- Subjects: what is made anew once, when it is stale, while all who use it wait. Who makes it holds the lock
-- subject:NAME exclusively, in a transaction or as a lease; who uses it, shared. The row tells what became of
-- it, to people and to who comes next. Instants are milliseconds since 1970 UTC.
-- Whoever locks several rows of these: lease, then subject.

CREATE TABLE rowlock.subject (
    name text COLLATE "C" PRIMARY KEY,
    version bigint NOT NULL DEFAULT 0,     -- another with each refresh that began
    status text NOT NULL DEFAULT 'NONE' CHECK (status IN ('NONE', 'PROCESSING', 'COMPLETE', 'ERROR')),
    description text,
    began bigint,                          -- of the last refresh,
    ended bigint,
    basis bigint,                          -- and of the one that made what is there
    updated bigint,
    host text,
    pid bigint,
    program text,
    token bigint NOT NULL DEFAULT 0,       -- of its lease; 0: it is done in a transaction, this one
    writer xid8,
    error text,
    exit integer                           -- 128 + N: ended by signal N
);

-- What was made by a refresh that began no later counts as stale. Not in the row above, which a transaction
-- has locked while it makes it anew.
CREATE TABLE rowlock.expiry (
    name text COLLATE "C" PRIMARY KEY,
    expired bigint NOT NULL
);

-- stale 1: it is older than max_age_ms (< 0: any age is fine), or expired, or was not made, or not to the
-- end; or it lies in the future by more than max_age_ms: the clock has been set back. age_ms NULL: it was never
-- made.
CREATE FUNCTION rowlock.judge_subject(name text, max_age_ms bigint, OUT stale integer, OUT age_ms bigint)
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

-- The same before any lock: who finds it fresh waits for nobody. A subject that nobody knew has a row then, so
-- that no transaction needs to insert one.
CREATE FUNCTION rowlock.look_at_subject(name text, max_age_ms bigint, OUT stale integer, OUT age_ms bigint)
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    SELECT j.stale, j.age_ms INTO stale, age_ms FROM rowlock.judge_subject(name, max_age_ms) j;
    IF stale IS NULL THEN
        INSERT INTO rowlock.subject (name) VALUES (look_at_subject.name) ON CONFLICT DO NOTHING;
        stale := 1;
    END IF;
END $$;

-- Under the lock, in the transaction that makes it anew or grants the lease `token` for that: as judge_subject;
-- and what is stale is PROCESSING now. Done twice under one token it says the same.
CREATE FUNCTION rowlock.begin_subject(name text, max_age_ms bigint, token bigint, description text, host text,
                                      pid bigint, program text, OUT stale integer, OUT age_ms bigint,
                                      OUT version bigint)
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    INSERT INTO rowlock.subject (name) VALUES (begin_subject.name) ON CONFLICT DO NOTHING;
    SELECT j.stale, j.age_ms INTO stale, age_ms FROM rowlock.judge_subject(name, max_age_ms) j;
    IF stale = 1 THEN
        UPDATE rowlock.subject s
           SET version = s.version + 1, status = 'PROCESSING', ended = NULL, error = NULL, exit = NULL,
               began = greatest(rowlock.now_ms(), (SELECT e.expired + 1 FROM rowlock.expiry e
                                                           WHERE e.name = begin_subject.name COLLATE "C")),
               description = coalesce(begin_subject.description, s.description), host = begin_subject.host,
               pid = begin_subject.pid, program = begin_subject.program, token = begin_subject.token,
               writer = CASE WHEN begin_subject.token = 0 THEN pg_catalog.pg_current_xact_id() END
         WHERE s.name = begin_subject.name COLLATE "C"
           AND (begin_subject.token = 0 OR s.token <> begin_subject.token OR s.status <> 'PROCESSING');
    END IF;
    SELECT s.version INTO version FROM rowlock.subject s WHERE s.name = begin_subject.name COLLATE "C";
END $$;

-- It is made: in the transaction that began it, else 8: that has been committed or rolled back unseen.
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

-- It was not made, in a transaction that has been rolled back: 1; 0 where somebody else has made it since, or
-- failed; 2, somebody has locked the row: to make it, or that transaction is not rolled back yet.
CREATE FUNCTION rowlock.fail_subject(name text, version bigint, description text, host text, pid bigint,
                                     program text, error text) RETURNS integer
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
           description = coalesce(fail_subject.description, s.description), host = fail_subject.host,
           pid = fail_subject.pid, program = fail_subject.program, token = 0, writer = NULL,
           error = fail_subject.error, exit = NULL
     WHERE s.name = fail_subject.name COLLATE "C";
    RETURN 1;
END $$;

-- Ends the lease under which it was made, and says how that ended: 0; 8, the lease had been lost, so that
-- whatever came of it counts for nothing.
CREATE FUNCTION rowlock.finish_subject(name text, token bigint, failed integer, error text, exit integer)
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
           error = CASE WHEN held THEN finish_subject.error ELSE 'its lease was lost before it was done' END,
           exit = finish_subject.exit
     WHERE s.name = finish_subject.name COLLATE "C" AND s.token = finish_subject.token
       AND s.status = 'PROCESSING';
    PERFORM rowlock.drop_mark(token);
    RETURN CASE WHEN held THEN 0 ELSE 8 END;
END $$;

-- Whatever was made by a refresh that has begun already is stale. 1; 0: nobody knows that subject.
CREATE FUNCTION rowlock.expire(name text) RETURNS integer LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    INSERT INTO rowlock.expiry AS e (name, expired)
    SELECT s.name, greatest(rowlock.now_ms(), s.began) FROM rowlock.subject s
     WHERE s.name = expire.name COLLATE "C"
        ON CONFLICT ON CONSTRAINT expiry_pkey DO UPDATE SET expired = greatest(e.expired + 1, excluded.expired);
    RETURN FOUND::integer;
END $$;

-- One subject or (NULL) all, as people want to see it. PROCESSING that nobody does any more is an ERROR. updated
-- and age_ms NULL: nothing is there, or it has expired.
CREATE FUNCTION rowlock.subjects(name text DEFAULT NULL)
RETURNS TABLE (subject text, description text, status text, began_ms bigint, ended_ms bigint, updated_ms bigint,
               age_ms bigint, program text, host text, pid bigint, error text, exit integer, made boolean)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    now_ms constant bigint := rowlock.now_ms();
BEGIN
    RETURN QUERY
        SELECT s.name, s.description, CASE WHEN d.died THEN 'ERROR' ELSE s.status END, s.began, s.ended,
               CASE WHEN s.basis > coalesce(e.expired, -1) THEN s.updated END,
               CASE WHEN s.basis > coalesce(e.expired, -1) THEN greatest(now_ms - s.updated, 0) END,
               s.program, s.host, s.pid,
               CASE WHEN d.died AND s.token = 0 THEN 'its transaction was committed before it was done'
                    WHEN d.died THEN 'its holder died' ELSE s.error END,
               s.exit, s.basis IS NOT NULL
          FROM rowlock.subject s
          LEFT JOIN rowlock.expiry e ON e.name = s.name
         CROSS JOIN LATERAL (
             SELECT s.status = 'PROCESSING' AND NOT EXISTS (
                 SELECT FROM rowlock.lease l JOIN rowlock.beat b ON b.token = l.token
                  WHERE l.token = s.token AND b.expires > pg_catalog.clock_timestamp()) AS died) d
         WHERE subjects.name IS NULL OR s.name = subjects.name COLLATE "C"
         ORDER BY s.name;
END $$;

-- For programs that know nothing of this: LOCK TABLE in the transaction that is open. shared: others read and use
-- it so too, nobody writes; else others only read. Waits wait_ms (0 not at all, < 0 for ever).
CREATE FUNCTION rowlock.lock_table(name text, shared boolean, wait_ms bigint) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    saved constant text := pg_catalog.current_setting('lock_timeout');
    found regclass := pg_catalog.to_regclass(name);
BEGIN
    IF found IS NULL THEN
        RAISE EXCEPTION 'rowlock: there is no table %', name USING ERRCODE = 'RL003';
    END IF;
    IF wait_ms <> 0 THEN
        PERFORM rowlock.limit_wait(rowlock.after(wait_ms));
    END IF;
    EXECUTE pg_catalog.format('LOCK TABLE %s IN %s MODE%s', found, CASE WHEN shared THEN 'SHARE' ELSE 'EXCLUSIVE' END,
                   CASE WHEN wait_ms = 0 THEN ' NOWAIT' ELSE '' END);
    PERFORM pg_catalog.set_config('lock_timeout', saved, true);
END $$;
