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
DO $$
BEGIN
    IF pg_catalog.to_regclass('rowlock.run_job') IS NULL THEN
        CREATE INDEX run_job ON rowlock.run (job, token);
    END IF;
END $$;

-- Records the end of a run, and counts it in its job. `former` is the row of the run before the
-- end, which the caller has read after it locked the job. A broken run may end twice, and counts
-- once.
CREATE FUNCTION rowlock.end_run(former rowlock.run, outcome text, exit integer, output text)
RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    ended constant bigint := {now_ms};
BEGIN
    UPDATE rowlock.run r
       SET outcome = end_run.outcome, finished = ended, exit = end_run.exit,
           output = end_run.output
     WHERE r.token = former.token;
    UPDATE rowlock.job j
       SET runs_done = j.runs_done + (end_run.outcome = 'done')::integer::bigint,
           runs_failed = j.runs_failed + (end_run.outcome = 'failed')::integer::bigint,
           runs_timed_out = j.runs_timed_out + (end_run.outcome = 'timed out')::integer::bigint,
           runs_broken = j.runs_broken + (end_run.outcome = 'broken')::integer::bigint,
           runs_lost = j.runs_lost + (end_run.outcome = 'lost')::integer::bigint,
           runs_late = j.runs_late + (end_run.outcome = 'late')::integer::bigint,
           runs_not_started = j.runs_not_started
                              + (end_run.outcome = 'not started')::integer::bigint,
           last_success = CASE WHEN end_run.outcome = 'done' THEN ended ELSE j.last_success END
     WHERE j.name = former.job
       AND (former.finished = 0::bigint OR former.outcome <> end_run.outcome);
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
       AND claim_job.instant <= {now_ms};
    IF NOT FOUND THEN
        RETURN (SELECT count(*) FROM rowlock.job j
                 WHERE j.name = claim_job.name AND j.running = claim_job.token);
    END IF;
    PERFORM rowlock.end_run(r, claim_job.outcome, r.exit, r.output) FROM rowlock.run r
      WHERE r.token = former AND r.outcome IN ('running', 'broken');
    now_ms := {now_ms};
    INSERT INTO rowlock.run (token, job, node, pid, due, repeats, started, taken_until)
    VALUES (claim_job.token, claim_job.name, claim_job.node, claim_job.pid, claim_job.instant,
            claim_job.repeats, now_ms, now_ms + at_least);
    DELETE FROM rowlock.run r
     WHERE r.job = claim_job.name
       AND r.token <= (SELECT o.token FROM rowlock.run o WHERE o.job = claim_job.name
                        ORDER BY o.token DESC LIMIT 1 OFFSET history);
    RETURN 1;
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
    -- a lease that has expired ends, because a renewal in progress must not find it; never waits: a
    -- session that has the row locked ends the lease itself, or keeps it
    PERFORM FROM rowlock.lease l
      WHERE l.token = former AND l.token > 0 AND l.expires <= pg_catalog.clock_timestamp()
        FOR UPDATE SKIP LOCKED;
    IF FOUND THEN
        PERFORM rowlock.end_lease(former, only_expired => true);
    END IF;
    IF EXISTS (SELECT FROM rowlock.lease l WHERE l.token = former AND l.token > 0) THEN
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
    PERFORM rowlock.end_run(r, plan_job.outcome, r.exit, r.output) FROM rowlock.run r
      WHERE r.token = former AND r.outcome IN ('running', 'broken');
    RETURN 1;
END $$;

-- See dialect.h, job_finish. A repeated call returns the same. After a run that was lost or not
-- started the name is free at once.
CREATE FUNCTION rowlock.finish_job(token bigint, outcome text, exit integer, output text,
                                   session bigint DEFAULT 0)
RETURNS integer LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    now_ms bigint;
    stop boolean;
    pending constant boolean := finish_job.outcome IN ('lost', 'not started');
    ended rowlock.run;
    becomes text;
BEGIN
    {durable};
    SELECT l.stop INTO stop FROM rowlock.lease l
     WHERE l.token = finish_job.token AND l.token > 0 FOR UPDATE;
    now_ms := {now_ms};
    PERFORM FROM rowlock.job j -- a claim may be ending this run
      WHERE j.name = (SELECT r.job FROM rowlock.run r WHERE r.token = finish_job.token) FOR UPDATE;
    SELECT * INTO ended FROM rowlock.run r WHERE r.token = finish_job.token;
    IF stop IS NULL THEN
        PERFORM rowlock.end_lease(token, session => session); -- its session lock
        IF ended.outcome IN ('done', 'failed', 'timed out', 'not started') OR ended.outcome = 'lost'
           AND EXISTS (SELECT FROM rowlock.job j
                       WHERE j.name = ended.job AND j.running = ended.token) THEN
            RETURN 0;                    -- recorded before: the reply was lost
        END IF;
        becomes := CASE WHEN ended.outcome = 'broken' THEN ended.outcome
                        WHEN finish_job.outcome = 'not started' THEN finish_job.outcome
                        ELSE 'late' END;
        IF ended.outcome IN ('running', 'lost', 'broken') THEN
            PERFORM rowlock.end_run(ended, becomes, exit, output);
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
        UPDATE rowlock.lease l
           SET expires = pg_catalog.to_timestamp(ended.taken_until::numeric / 1000.0)
         WHERE l.token = finish_job.token AND l.token > 0;
    ELSE
        PERFORM rowlock.end_lease(token, session => session);
    END IF;
    UPDATE rowlock.job j
       SET version = j.version + 1, running = CASE WHEN pending AND NOT stop THEN j.running
           ELSE 0 END,
           failed = CASE WHEN finish_job.outcome IN ('done', 'lost') OR stop THEN 0 ELSE now_ms END
     WHERE j.name = ended.job AND j.running = finish_job.token;
    PERFORM rowlock.end_run(ended, CASE WHEN stop THEN 'broken' ELSE finish_job.outcome END, exit,
                            output);
    RETURN CASE WHEN stop THEN 14 ELSE 0 END;
END $$;
