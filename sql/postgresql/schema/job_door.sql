-- SPDX-License-Identifier: Apache-2.0
-- Jobs for clients without the C library: claim, finish. Call each as one statement in autocommit.

-- One round of a claim. state NULL: another node has changed the job meanwhile, decide again.
-- wait_ms: how long it waits for a name lock. It is 0 if an earlier round may have locked the job's
-- row: the holder of the name lock may wait for that row.
CREATE FUNCTION rowlock.claim_round(
    job text, schedule text, ttl_ms bigint, retry integer, backoff_ms bigint, skips_missed boolean,
    at_least_ms bigint, history integer, owner text, host text, pid bigint, program text,
    note text, wait_ms bigint, OUT token bigint, OUT due bigint, OUT repeats integer,
    OUT lost bigint, OUT state text, OUT pause_ms bigint, OUT former_schedule text)
LANGUAGE plpgsql VOLATILE SET exit_on_error = off AS $$
DECLARE
    d record;
    answer record;
    held_ms constant bigint := 5000; -- its end may come at any time
BEGIN
    SELECT o.*, s.now_ms, s.version, s.held,
           CASE WHEN s.schedule <> claim_round.schedule THEN s.schedule END AS former_schedule
      INTO d
      FROM rowlock.job_state(job) s
     CROSS JOIN LATERAL rowlock.decide_job(claim_round.schedule, 0, retry, backoff_ms, skips_missed,
                                           {state_of s}) o;
    former_schedule := d.former_schedule;
    IF d.act < 2 THEN
        state := CASE WHEN d.held THEN 'running' ELSE 'waiting' END;
        pause_ms := CASE WHEN d.held THEN least(d.until_ms - d.now_ms, held_ms)
                         ELSE d.until_ms - d.now_ms END;
        RETURN;
    ELSIF d.act <> 3 THEN
        IF rowlock.plan_job(job, d.version, schedule, d.due, d.former, d.outcome) = 1 THEN
            lost := CASE WHEN d.former <> 0 AND d.outcome = 'lost' THEN d.former END;
        ELSIF d.act = 4 THEN
            state := 'running'; -- a fence holds its lease
            pause_ms := held_ms;
        END IF;
        RETURN;
    END IF;
    SELECT g.status, g.token INTO answer
      FROM rowlock.try_grant('job:' || job, 'exclusive', NULL, owner, ttl_ms, wait_ms, 0, host, pid,
                             program, note) g;
    IF answer.status <> 0 THEN
        state := 'running';
        pause_ms := held_ms;
        RETURN;
    ELSIF rowlock.claim_job(job, answer.token, d.version, schedule, d.instant, d.due, d.repeats,
                            d.former, d.outcome, coalesce(host, ''), coalesce(pid, 0),
                            at_least_ms, history) = 0 THEN
        RAISE EXCEPTION 'rowlock: declined' USING ERRCODE = 'RL100'; -- gives the lease back
    END IF;
    token := answer.token;
    due := d.instant;
    repeats := d.repeats;
    lost := CASE WHEN d.former <> 0 AND d.outcome = 'lost' THEN d.former END;
    state := 'claimed';
    pause_ms := 0;
EXCEPTION WHEN SQLSTATE 'RL100' THEN
    former_schedule := NULL;
END $$;

CREATE FUNCTION rowlock.claim(
    job text, schedule text, owner text, ttl interval DEFAULT '30 s', zone text DEFAULT 'UTC',
    retry integer DEFAULT NULL, backoff interval DEFAULT '10 s', missed text DEFAULT 'once',
    at_least interval DEFAULT '0', history integer DEFAULT 100, host text DEFAULT NULL,
    pid bigint DEFAULT NULL, program text DEFAULT NULL, note text DEFAULT NULL,
    OUT token bigint, OUT due timestamptz, OUT repeats integer, OUT state text,
    OUT pause interval, OUT lost bigint, OUT former_schedule text)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    wait_limit constant text := pg_catalog.current_setting('lock_timeout');
    idle constant text := rowlock.check_call('job:' || job COLLATE "default", owner);
    ttl_ms constant bigint := rowlock.check_terms(job, ttl, 'exclusive', NULL);
    backoff_ms constant bigint := pg_catalog.floor({in_ms backoff})::bigint;
    at_least_ms constant bigint := pg_catalog.floor({in_ms at_least})::bigint;
    year_ms constant bigint := 31622400000;
    normal text;
    answer record;
    own record;
BEGIN
    PERFORM rowlock.check_about(host, program, note);
    IF missed IS NULL OR missed NOT IN ('once', 'skip')
       OR NOT coalesce(backoff_ms BETWEEN 0 AND year_ms AND at_least_ms BETWEEN 0 AND year_ms
                       AND history BETWEEN 1 AND 1000000 AND coalesce(retry, 0) >= 0, false) THEN
        RAISE EXCEPTION 'rowlock: job "%": missed is once or skip; backoff and at_least are 0 to '
            '366 days; history is 1 to 1000000; retry is at least 0, or NULL', job
            USING ERRCODE = '22023';
    END IF;
    normal := rowlock.read_schedule(schedule, zone, job);
    -- an earlier call, whose reply was lost, may have claimed it
    SELECT l.token, r.due, r.repeats INTO own
      FROM {leases_named ('job:' || job) COLLATE "C"} l
      JOIN rowlock.run r ON r.token = l.token AND r.outcome = 'running'
     WHERE l.owner = claim.owner;
    IF FOUND AND rowlock.renew_lease(own.token, ttl_ms) = 0 THEN
        token := own.token;
        due := pg_catalog.to_timestamp(own.due::double precision / 1000::double precision);
        repeats := own.repeats;
        state := 'claimed';
        pause := interval '0';
        RETURN;
    END IF;
    FOR round IN 1 .. 100 LOOP
        SELECT * INTO answer FROM rowlock.claim_round(
            job, normal, ttl_ms, coalesce(retry, -1), backoff_ms, missed = 'skip', at_least_ms,
            history, owner,
            coalesce(host, pg_catalog.host(pg_catalog.inet_client_addr()), '[local]'), pid,
            coalesce(program, nullif(pg_catalog.current_setting('application_name'), '')), note,
            CASE WHEN round = 1 THEN 250 ELSE 0 END);
        lost := coalesce(answer.lost, lost);
        former_schedule := coalesce(former_schedule, answer.former_schedule);
        EXIT WHEN answer.state IS NOT NULL;
    END LOOP;
    PERFORM pg_catalog.set_config('lock_timeout', wait_limit, true),
            pg_catalog.set_config('idle_in_transaction_session_timeout', idle, true);
    token := answer.token;
    due := pg_catalog.to_timestamp(answer.due::double precision / 1000::double precision);
    repeats := answer.repeats;
    state := coalesce(answer.state, 'running'); -- so much activity: other nodes take care of it
    -- a user may make it due at any time
    pause := {interval least(60000, greatest(0, coalesce(answer.pause_ms, 5000)))};
END $$;
COMMENT ON FUNCTION rowlock.claim(text, text, text, interval, text, integer, interval, text,
                                  interval, integer, text, bigint, text, text) IS
    'Claims a job if it is due: state is claimed, and token that of the lease of job:NAME, due the '
    'due time of the run and repeats the number of the retry. Otherwise state is running or '
    'waiting: call again after pause. Renew the lease, and end the run by rowlock.finish. '
    'schedule: every 5m, or a cron line, in the time zone zone; owner: a random text, the same if '
    'the call is repeated. lost: the token of the previous run, if this call found it lost; '
    'former_schedule: the schedule of another node, if it differs. Call it outside a transaction.';

-- Keeps the last 2048 bytes of the output. Not an error if the lease is lost: that would undo the
-- record.
CREATE FUNCTION rowlock.finish(token bigint, outcome text DEFAULT 'done',
                               output text DEFAULT NULL, exit integer DEFAULT NULL) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    kept text := pg_catalog.right(output, 2048);
BEGIN
    IF outcome IS NULL
       OR outcome NOT IN ('done', 'failed', 'timed out', 'lost', 'not started') THEN
        RAISE EXCEPTION 'rowlock: outcome is done, failed, timed out, lost or not started, not %',
            coalesce(outcome, 'NULL') USING ERRCODE = '22023';
    END IF;
    WHILE pg_catalog.octet_length(pg_catalog.convert_to(kept, 'UTF8')) > 2048 LOOP
        kept := pg_catalog.right(kept, -greatest(1,
            (pg_catalog.octet_length(pg_catalog.convert_to(kept, 'UTF8')) - 2048) / 4));
    END LOOP;
    RETURN rowlock.finish_job(token, outcome, coalesce(exit, (outcome <> 'done')::integer),
                              kept) = 0;
END $$;
COMMENT ON FUNCTION rowlock.finish(bigint, text, text, integer) IS
    'Ends a run that rowlock.claim began: releases its lease and records the result. Returns true; '
    'false if the lease was lost or broken before, which the history records. outcome: done, '
    'failed, timed out, lost or not started. output: the last 2048 bytes are kept; exit: 0 for '
    'done, else 1, unless it is given. Inside a transaction it takes effect at COMMIT.';
