-- SPDX-License-Identifier: Apache-2.0
-- The decision of a node about a job, by this server's clock and time zones. src/job/decide.c is
-- the same for databases without functions, and has the comments on each rule;
-- tests/sessions/server_schedule_test compares the two.

-- The state of a job; version 0: it is not known. held: a live lease has the name.
CREATE FUNCTION rowlock.job_state(name text, OUT now_ms bigint, OUT version bigint,
                                  OUT schedule text, OUT due bigint, OUT last bigint,
                                  OUT failed bigint, OUT repeats integer, OUT running bigint,
                                  OUT broken boolean, OUT held boolean, OUT free_ms bigint,
                                  OUT not_started boolean)
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    SELECT {now_ms}, coalesce(j.version, 0), j.schedule, coalesce(j.due, 0),
           coalesce(j.last, 0), coalesce(j.failed, 0), coalesce(j.repeats, 0),
           coalesce(j.running, 0), coalesce(r.outcome = 'broken', false), h.free IS NOT NULL,
           coalesce(pg_catalog.floor({in_ms h.free}), 0)::bigint,
           coalesce(r.outcome = 'not started', false)
      INTO now_ms, version, schedule, due, last, failed, repeats, running, broken, held, free_ms,
           not_started
      FROM (SELECT 1) one
      LEFT JOIN rowlock.job j ON j.name = job_state.name COLLATE "C"
      LEFT JOIN rowlock.run r ON r.job = j.name AND r.token = j.running
     CROSS JOIN LATERAL (SELECT max(l.expires) AS free
                           FROM {leases_named ('job:' || job_state.name) COLLATE "C"} l
                          WHERE l.expires > pg_catalog.clock_timestamp()) h;
END $$;

-- See decide.h, of which this is a copy: a pure function of the job's state and of the node's
-- rules. schedule and the parameters up to skips_missed are the node's; the others are of
-- job_state. act: 0 wait, 1 await, 2 plan, 3 claim, 4 settle. retry < 0: one, if lost. former: the
-- token of the previous run, if it left no lease; outcome: the reason.
CREATE FUNCTION rowlock.decide_job(schedule text, early_ms bigint, retry integer,
                                   backoff_ms bigint, skips_missed boolean, now_ms bigint,
                                   version bigint, stored text, planned bigint, last bigint,
                                   failed bigint, tries integer, running bigint, broken boolean,
                                   held boolean, free_ms bigint, not_started boolean,
                                   OUT act integer, OUT until_ms bigint, OUT instant bigint,
                                   OUT due bigint, OUT repeats integer, OUT former bigint,
                                   OUT outcome text)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    never constant bigint := 9223372036854775807;
    late_ms constant bigint := 60000;
    known constant boolean := version <> 0;
    same constant boolean := known AND stored = schedule COLLATE "C";
    lost constant boolean := running <> 0 AND NOT not_started;
    next bigint;               -- the schedule's next due time
    previous bigint;           -- the schedule's latest due time
    repeat_ms bigint;          -- when to claim the last due time again
    misplanned boolean;        -- planned while the clock showed a time that is still in the future
    requested boolean := false;
    comes boolean;
    before bigint;
    own_next bigint;
BEGIN
    next := rowlock.due(schedule, now_ms, 1);
    previous := rowlock.due(schedule, now_ms, -1);
    misplanned := same AND planned > next AND planned > rowlock.due(schedule,
        now_ms + least(rowlock.due(schedule, next, 1) - next, 3600000), 1);
    due := CASE WHEN NOT known THEN CASE WHEN schedule ~ '^every' THEN previous ELSE next END
                WHEN misplanned THEN next
                WHEN same THEN planned
                ELSE rowlock.due(schedule, greatest(last, now_ms - late_ms), 1) END;
    repeats := 0;
    former := 0;
    outcome := CASE WHEN broken THEN 'broken' ELSE 'lost' END;
    repeat_ms := CASE WHEN known AND (not_started OR failed <> 0
                                      AND tries < greatest(retry, 0))
                      THEN greatest(failed + backoff_ms, last) ELSE never END;
    IF held THEN
        act := 0;
        until_ms := least(free_ms, next);
    ELSIF due <= now_ms THEN
        IF same THEN
            before := rowlock.due(schedule, due, -1);
            requested := before <> due;
        END IF;
        comes := true;
        -- a node with other time-zone data planned it: leave it to such a node for a minute
        IF requested AND schedule ~ '^cron' AND schedule !~ ' UTC$' AND due % late_ms = 0 THEN
            own_next := rowlock.due(schedule, due, 1);
            IF now_ms - due <= late_ms THEN
                act := 0;
                until_ms := due + late_ms + 1;
                RETURN;
            END IF;
            comes := own_next <= now_ms OR before <> never AND due - before < own_next - due;
        END IF;
        former := CASE WHEN lost THEN running ELSE 0 END;
        instant := CASE WHEN previous = never THEN due ELSE greatest(previous, due) END;
        IF NOT comes THEN
            act := CASE WHEN running <> 0 THEN 4 ELSE 2 END;
            due := own_next;
        ELSIF skips_missed AND known AND now_ms - instant > late_ms AND NOT requested THEN
            act := CASE WHEN running <> 0 THEN 4 ELSE 2 END;
            due := next;
        ELSE
            act := 3;
            due := next;
        END IF;
    ELSIF lost THEN -- its run left no lease
        IF NOT broken AND tries < (CASE WHEN retry < 0 THEN 1 ELSE retry END)
           AND NOT misplanned THEN
            IF last > now_ms THEN
                act := 0;
                until_ms := last;
            ELSE
                act := 3;
                instant := last;
                repeats := tries + 1;
                former := running;
            END IF;
        ELSE
            act := 4;
            former := running;
        END IF;
    ELSIF repeat_ms <= now_ms THEN
        act := 3;
        instant := last;
        repeats := CASE WHEN not_started THEN tries ELSE tries + 1 END;
    ELSIF NOT known OR NOT not_started AND (NOT same OR misplanned) THEN
        act := 2;
    ELSE
        before := CASE WHEN due <> never AND due - now_ms <= early_ms
                       THEN rowlock.due(schedule, due - 1, -1) END;
        IF before = never OR due - now_ms <= (due - before) / 4 THEN
            act := 1;
            until_ms := due;
        ELSE
            act := 0;
            until_ms := least(repeat_ms, due);
        END IF;
    END IF;
END $$;
