-- SPDX-License-Identifier: Apache-2.0
-- Jobs: commands that exactly one node of a farm runs when they are due. The nodes know schedules
-- and commands; the database records only due times and runs. A job is claimed together with the
-- lease of job:NAME, in one transaction (dialect.h, job_claim). Times are milliseconds since 1970
-- UTC; 9223372036854775807: never. Lock order of rows: lease, job, run.
-- claim_job locks its own lease last; a session that ends this lease meanwhile locks no job.

CREATE TABLE rowlock.job (
    name text COLLATE "C" PRIMARY KEY,
    version bigint NOT NULL,             -- increases with every change
    schedule text NOT NULL,              -- as configured on the node that changed the row
    due bigint NOT NULL,                 -- the next due time that no node has claimed
    last bigint NOT NULL DEFAULT 0,      -- the due time that was claimed last
    repeats integer NOT NULL DEFAULT 0,  -- the retry number of its run
    failed bigint NOT NULL DEFAULT 0,    -- when its run failed or did not start; 0: neither
    running bigint NOT NULL DEFAULT 0,   -- the token of its run; 0: it has ended. A run that was
                                         -- lost or not started stays until the next claim
    -- the number of ended runs by outcome, including those that the history has no longer
    runs_done bigint NOT NULL DEFAULT 0,
    runs_failed bigint NOT NULL DEFAULT 0,
    runs_timed_out bigint NOT NULL DEFAULT 0,
    runs_broken bigint NOT NULL DEFAULT 0,
    runs_lost bigint NOT NULL DEFAULT 0,
    runs_late bigint NOT NULL DEFAULT 0,
    runs_not_started bigint NOT NULL DEFAULT 0,
    last_success bigint NOT NULL DEFAULT 0 -- when the latest run that is done ended; 0: never
);

CREATE TABLE rowlock.run (
    token bigint PRIMARY KEY,            -- of its lease
    job text COLLATE "C" NOT NULL,
    node text NOT NULL,
    pid bigint NOT NULL,
    due bigint NOT NULL,                 -- the due time of the run
    repeats integer NOT NULL,
    started bigint NOT NULL,
    taken_until bigint NOT NULL,               -- minimum hold: the name stays taken until then
    finished bigint NOT NULL DEFAULT 0,
    outcome text NOT NULL DEFAULT 'running'
        CHECK (outcome IN ('running', 'done', 'failed', 'timed out', 'broken', 'lost', 'late',
                           'not started')),
    exit integer NOT NULL DEFAULT 0,     -- 128 + N: terminated by signal N
    output text
);
CREATE INDEX run_job ON rowlock.run (job, token);

CREATE FUNCTION rowlock.now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS $$
    SELECT pg_catalog.floor(extract(epoch FROM pg_catalog.clock_timestamp())::numeric
                            * 1000.0)::bigint
$$;

-- Counts the end of a run in its job. `former` is the row of the run before the end, which the
-- caller has read after it locked the job. A broken run may end twice, and counts once.
CREATE FUNCTION rowlock.count_run(former rowlock.run, outcome text, ended bigint) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    UPDATE rowlock.job j
       SET runs_done = j.runs_done + (count_run.outcome = 'done')::integer::bigint,
           runs_failed = j.runs_failed + (count_run.outcome = 'failed')::integer::bigint,
           runs_timed_out = j.runs_timed_out + (count_run.outcome = 'timed out')::integer::bigint,
           runs_broken = j.runs_broken + (count_run.outcome = 'broken')::integer::bigint,
           runs_lost = j.runs_lost + (count_run.outcome = 'lost')::integer::bigint,
           runs_late = j.runs_late + (count_run.outcome = 'late')::integer::bigint,
           runs_not_started = j.runs_not_started
                              + (count_run.outcome = 'not started')::integer::bigint,
           last_success = CASE WHEN count_run.outcome = 'done' THEN count_run.ended
                               ELSE j.last_success END
     WHERE j.name = former.job
       AND (former.finished = 0::bigint OR former.outcome <> count_run.outcome);
END $$;

-- Records the result `outcome` of the job's previous run, which has no lease any more; the caller
-- has locked the job. `former` is the token of that run; 0: there is none.
CREATE FUNCTION rowlock.end_lost_run(former bigint, outcome text) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    now_ms constant bigint := rowlock.now_ms();
    ended rowlock.run;
BEGIN
    SELECT * INTO ended FROM rowlock.run r
     WHERE r.token = former AND r.outcome IN ('running', 'broken');
    IF FOUND THEN
        UPDATE rowlock.run r SET outcome = end_lost_run.outcome, finished = now_ms
         WHERE r.token = former;
        PERFORM rowlock.count_run(ended, end_lost_run.outcome, now_ms);
    END IF;
END $$;

-- See dialect.h, job_claim. Returns 0 also if `instant` is in the future.
CREATE FUNCTION rowlock.claim_job(name text, token bigint, version bigint, schedule text,
                                  instant bigint, due bigint, repeats integer, former bigint,
                                  outcome text, node text,
                                  pid bigint, at_least bigint, history integer) RETURNS integer
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    now_ms bigint;
BEGIN
    IF claim_job.version = 0 THEN
        INSERT INTO rowlock.job (name, version, schedule, due)
        VALUES (claim_job.name, 0, claim_job.schedule, claim_job.instant) ON CONFLICT DO NOTHING;
    END IF;
    UPDATE rowlock.job j
       SET version = j.version + 1, schedule = claim_job.schedule, due = claim_job.due,
           last = claim_job.instant, repeats = claim_job.repeats, failed = 0,
           running = claim_job.token
     WHERE j.name = claim_job.name AND j.version = claim_job.version
       AND claim_job.instant <= rowlock.now_ms();
    IF NOT FOUND THEN
        RETURN (SELECT count(*) FROM rowlock.job j
                 WHERE j.name = claim_job.name AND j.running = claim_job.token);
    END IF;
    PERFORM rowlock.end_lost_run(former, outcome),
            rowlock.make_heartbeat(claim_job.token); -- jobs are judged by it alone
    now_ms := rowlock.now_ms();
    INSERT INTO rowlock.run (token, job, node, pid, due, repeats, started, taken_until)
    VALUES (claim_job.token, claim_job.name, claim_job.node, claim_job.pid, claim_job.instant,
            claim_job.repeats, now_ms, now_ms + at_least);
    DELETE FROM rowlock.run r
     WHERE r.job = claim_job.name
       AND r.token <= (SELECT o.token FROM rowlock.run o WHERE o.job = claim_job.name
                        ORDER BY o.token DESC LIMIT 1 OFFSET history);
    RETURN 1;
END $$;

-- Returns true if this token has no lease, or had an expired one, which it removes: a renewal in
-- progress must not find it. Never waits: a session that has the rows locked ends the lease itself,
-- or keeps it.
CREATE FUNCTION rowlock.end_expired(token bigint) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    PERFORM FROM rowlock.heartbeat b
      WHERE b.token = end_expired.token
        AND b.expires <= pg_catalog.clock_timestamp() FOR UPDATE SKIP LOCKED;
    IF FOUND THEN
        PERFORM FROM rowlock.lease l WHERE l.token = end_expired.token FOR UPDATE SKIP LOCKED;
        IF FOUND THEN
            RETURN rowlock.remove_lease(end_expired.token);
        END IF;
    END IF;
    RETURN NOT EXISTS (SELECT FROM rowlock.lease l WHERE l.token = end_expired.token);
END $$;

-- See dialect.h, job_plan. A run that was not started stays with the job, so that it is claimed
-- again.
CREATE FUNCTION rowlock.plan_job(name text, version bigint, schedule text, due bigint,
                                 former bigint, outcome text) RETURNS integer
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF plan_job.version = 0 THEN
        INSERT INTO rowlock.job (name, version, schedule, due)
        VALUES (plan_job.name, 1, plan_job.schedule, plan_job.due) ON CONFLICT DO NOTHING;
        RETURN CASE WHEN FOUND THEN 1 ELSE 0 END;
    END IF;
    IF former <> 0 AND NOT rowlock.end_expired(former) THEN
        RETURN 0;
    END IF;
    UPDATE rowlock.job j
       SET version = j.version + 1, schedule = plan_job.schedule, due = plan_job.due,
           running = CASE WHEN EXISTS (SELECT FROM rowlock.run r
                                        WHERE r.token = j.running AND r.outcome = 'not started')
                          THEN j.running ELSE 0 END
     WHERE j.name = plan_job.name AND j.version = plan_job.version;
    IF NOT FOUND THEN
        RETURN 0;
    END IF;
    PERFORM rowlock.end_lost_run(former, outcome);
    RETURN 1;
END $$;

-- See dialect.h, job_finish. A repeated call returns the same. After a run that was lost or not
-- started the name is free at once.
CREATE FUNCTION rowlock.finish_job(token bigint, outcome text, exit integer, output text)
RETURNS integer LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    now_ms bigint;
    stop boolean;
    pending constant boolean := finish_job.outcome IN ('lost', 'not started');
    ended rowlock.run;
    becomes text;
BEGIN
    PERFORM rowlock.make_durable();
    PERFORM FROM rowlock.lease l WHERE l.token = finish_job.token FOR UPDATE;
    SELECT b.stop INTO stop FROM rowlock.heartbeat b WHERE b.token = finish_job.token FOR UPDATE;
    now_ms := rowlock.now_ms();
    PERFORM FROM rowlock.job j -- a claim may be ending this run
      WHERE j.name = (SELECT r.job FROM rowlock.run r WHERE r.token = finish_job.token) FOR UPDATE;
    SELECT * INTO ended FROM rowlock.run r WHERE r.token = finish_job.token;
    IF stop IS NULL OR NOT EXISTS (SELECT FROM rowlock.lease l WHERE l.token = finish_job.token)
        THEN
        IF ended.outcome IN ('done', 'failed', 'timed out', 'not started') OR ended.outcome = 'lost'
           AND EXISTS (SELECT FROM rowlock.job j
                       WHERE j.name = ended.job AND j.running = ended.token) THEN
            RETURN 0;                    -- recorded before: the reply was lost
        END IF;
        becomes := CASE WHEN ended.outcome = 'broken' THEN ended.outcome
                        WHEN finish_job.outcome = 'not started' THEN finish_job.outcome
                        ELSE 'late' END;
        UPDATE rowlock.run r
           SET outcome = becomes, finished = now_ms, exit = finish_job.exit,
               output = finish_job.output
         WHERE r.token = finish_job.token AND r.outcome IN ('running', 'lost', 'broken');
        IF FOUND THEN
            PERFORM rowlock.count_run(ended, becomes, now_ms);
        END IF;
        -- a node that decided before this must decide again
        UPDATE rowlock.job j SET version = j.version + 1
         WHERE finish_job.outcome = 'not started' AND j.name = ended.job
           AND j.running = finish_job.token;
        RETURN CASE WHEN ended.outcome = 'broken' THEN 14
                    WHEN ended.outcome IN ('running', 'lost')
                         AND finish_job.outcome = 'not started' THEN 0
                    ELSE 8 END;
    ELSIF ended.outcome IN ('done', 'failed', 'timed out') THEN
        -- the reply was lost; the minimum hold of the name still applies
        RETURN 0;
    END IF;
    IF ended.taken_until > now_ms AND NOT stop AND NOT pending THEN
        UPDATE rowlock.heartbeat b
           SET expires = pg_catalog.to_timestamp(ended.taken_until::numeric / 1000.0)
         WHERE b.token = finish_job.token;
    ELSE
        PERFORM rowlock.remove_lease(finish_job.token);
    END IF;
    UPDATE rowlock.job j
       SET version = j.version + 1, running = CASE WHEN pending AND NOT stop THEN j.running
           ELSE 0 END,
           failed = CASE WHEN finish_job.outcome IN ('done', 'lost') OR stop THEN 0 ELSE now_ms END
     WHERE j.name = ended.job AND j.running = finish_job.token;
    becomes := CASE WHEN stop THEN 'broken' ELSE finish_job.outcome END;
    UPDATE rowlock.run r
       SET outcome = becomes, finished = now_ms, exit = finish_job.exit,
           output = finish_job.output
     WHERE r.token = finish_job.token;
    PERFORM rowlock.count_run(ended, becomes, now_ms);
    PERFORM rowlock.session_unlock(finish_job.token);
    RETURN CASE WHEN stop THEN 14 ELSE 0 END;
END $$;

CREATE FUNCTION rowlock.forget_job(name text) RETURNS integer LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    running_token bigint;
BEGIN
    SELECT j.running INTO running_token FROM rowlock.job j
     WHERE j.name = forget_job.name COLLATE "C" FOR UPDATE;
    IF NOT FOUND THEN
        RETURN 0;
    ELSIF EXISTS (SELECT FROM rowlock.heartbeat b
                   WHERE b.token = running_token AND b.expires > pg_catalog.clock_timestamp()) THEN
        RETURN 2;
    END IF;
    DELETE FROM rowlock.job j WHERE j.name = forget_job.name COLLATE "C";
    DELETE FROM rowlock.run r WHERE r.job = forget_job.name COLLATE "C";
    RETURN 1;
END $$;
