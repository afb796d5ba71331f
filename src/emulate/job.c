/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs: their state, the claim of a run, and its end. */
#include "emulate/job_rows.h"

#define SETTLE_MS 250 /* a fence may hold the lease of a lost run */

/* ---- the state ------------------------------------------------------------------------------- */

static bool run_is(const struct rowlock_rows *runs, enum rowlock_run_outcome outcome)
{
    const struct rowlock_run_row *run = runs->row;

    return runs->n && run->outcome == outcome;
}

/* When the last live lease of the job's name ends; 0: there is none. */
static int read_free(struct rowlock_work *work, int64_t *free_ms)
{
    struct rowlock_rows leases = {.size = sizeof(struct rowlock_lease_row)};
    const struct rowlock_lease_row *row;
    char key[ROWLOCK_KEY_SIZE];
    int code;

    rowlock__key(work, ROWLOCK_JOB_PREFIX, &work->call->values[0], key);
    code = rowlock__read_leases(work, key, NULL, &leases);
    row = leases.row;
    *free_ms = 0;
    for (size_t i = 0; i < leases.n; i++)
        if (row[i].held.alive && row[i].held.expires_ms > *free_ms)
            *free_ms = row[i].held.expires_ms;
    rowlock__rows_clear(&leases);
    return code;
}

/* A job without the text of its schedule. Its name is `key`, or NULL if there is none. */
static int find_job(struct rowlock_work *work, const char *key, struct rowlock_job_row *job)
{
    struct rowlock_rows jobs = {.size = sizeof *job};
    int code = rowlock__read_jobs(work, key, &jobs);

    *job = (struct rowlock_job_row){0};
    if (!code && jobs.n) {
        *job = *(struct rowlock_job_row *)jobs.row;
        job->name = key;
        job->schedule = NULL;
    }
    rowlock__rows_clear(&jobs);
    return code;
}

/* name -> the state from which a node decides (dialect.h). The claim has the version as a
   condition. The clock is read last: otherwise a row could be later than the clock, and look
   planned by a wrong clock. */
int rowlock__emulate_job_state(struct rowlock_work *work)
{
    struct rowlock_rows jobs = {.size = sizeof(struct rowlock_job_row)};
    struct rowlock_rows runs = {.size = sizeof(struct rowlock_run_row)};
    struct rowlock_job_row job = {0};
    int64_t now_ms = 0, free_ms = 0;
    int code = rowlock__read_jobs(work, rowlock__work_key(work, 0), &jobs);

    if (!code && jobs.n) {
        job = *(struct rowlock_job_row *)jobs.row;
        code = rowlock__read_run(work, job.running, &runs);
    }
    if (!code)
        code = read_free(work, &free_ms);
    if (!code)
        code = rowlock__work_now(work, &now_ms);
    if (!code)
        rowlock__work_answer(
            work,
            (struct rowlock_value[ROWLOCK_STATE_COLUMNS]){
                [ROWLOCK_STATE_NOW] = rowlock__int_value(now_ms),
                [ROWLOCK_STATE_VERSION] = rowlock__int_value(job.version),
                [ROWLOCK_STATE_SCHEDULE] = rowlock__text_value(job.schedule),
                [ROWLOCK_STATE_DUE] = rowlock__int_value(job.due),
                [ROWLOCK_STATE_LAST] = rowlock__int_value(job.last_due),
                [ROWLOCK_STATE_FAILED] = rowlock__int_value(job.failed),
                [ROWLOCK_STATE_REPEATS] = rowlock__int_value(job.repeats),
                [ROWLOCK_STATE_RUNNING] = rowlock__int_value(job.running),
                [ROWLOCK_STATE_BROKEN] = rowlock__int_value(run_is(&runs, ROWLOCK_RUN_BROKEN)),
                [ROWLOCK_STATE_HELD] = rowlock__int_value(free_ms > now_ms),
                [ROWLOCK_STATE_FREE] = rowlock__int_value(free_ms),
                [ROWLOCK_STATE_NOT_STARTED] =
                    rowlock__int_value(run_is(&runs, ROWLOCK_RUN_NOTSTARTED))},
            ROWLOCK_STATE_COLUMNS);
    rowlock__rows_clear(&jobs);
    rowlock__rows_clear(&runs);
    return code;
}

/* ---- the claim ------------------------------------------------------------------------------- */

/* Creates the row of a job. `*faster`: another node did. */
static int add_job(struct rowlock_work *work, const char *key, unsigned schedule, unsigned due,
                   bool *faster)
{
    struct rowlock_value values[] = {rowlock__text_value(key), rowlock__work_value(work, schedule),
                                     rowlock__work_value(work, due)};
    int code = rowlock__work_do(work, ROWLOCK_PLAIN_JOB_ADD, values);

    *faster = rowlock__work_is_duplicate(work, code);
    return *faster ? ROWLOCK_OK : code;
}

#define N_COUNTED (ROWLOCK_RUN_COUNTS + 1)

/* The parameters that count the end of a run; one that was broken may end twice, and counts once.
   `job`: its row, locked. */
static void count_values(struct rowlock_value out[N_COUNTED], const struct rowlock_job_row *job,
                         const struct rowlock_run_row *run, enum rowlock_run_outcome outcome,
                         int64_t now_ms)
{
    bool again = run->finished && run->outcome == outcome;

    for (int i = 0; i < ROWLOCK_RUN_COUNTS; i++)
        out[i] = rowlock__int_value(!again && (int)outcome == ROWLOCK_RUN_DONE + i);
    out[ROWLOCK_RUN_COUNTS] = rowlock__int_value(out[0].number ? now_ms : job->last_success);
}

/* Records that the run `former` has no lease now, and counts it: its job has it no longer, or
   a claim found it lost. Parameter `outcome` says how it ended. */
static int settle(struct rowlock_work *work, int64_t former, unsigned outcome)
{
    struct rowlock_rows runs = {.size = sizeof(struct rowlock_run_row)};
    struct rowlock_value said = rowlock__work_value(work, outcome);
    struct rowlock_value values[] = {said, rowlock__int_value(former)}, counted[N_COUNTED + 1];
    struct rowlock_job_row job = {0};
    const struct rowlock_run_row *run;
    int code = ROWLOCK_OK;

    if (former)
        code = rowlock__read_run(work, former, &runs);
    if (!code && runs.n)
        code = rowlock__work_do(work, ROWLOCK_PLAIN_RUN_SETTLE, values);
    run = runs.row;
    if (!code && runs.n && work->affected > 0)
        code = find_job(work, run->job, &job);
    if (!code && job.name) {
        count_values(counted, &job, run, rowlock__value_outcome(&said), run->now);
        counted[N_COUNTED] = rowlock__text_value(run->job);
        code = rowlock__work_do(work, ROWLOCK_PLAIN_JOB_COUNT, counted);
    }
    rowlock__rows_clear(&runs);
    return code;
}

/* Settles the run before, adds this one, and keeps as many runs of the job as the claim says. */
static int add_run(struct rowlock_work *work, const char *key)
{
    struct rowlock_rows runs = {.size = sizeof(struct rowlock_run_row)};
    const struct rowlock_run_row *run;
    struct rowlock_value values[] = {rowlock__work_value(work, ROWLOCK_CLAIM_TOKEN),
                                     rowlock__text_value(key),
                                     rowlock__work_value(work, ROWLOCK_CLAIM_NODE),
                                     rowlock__work_value(work, ROWLOCK_CLAIM_PID),
                                     rowlock__work_value(work, ROWLOCK_CLAIM_INSTANT),
                                     rowlock__work_value(work, ROWLOCK_CLAIM_REPEATS),
                                     rowlock__work_value(work, ROWLOCK_CLAIM_AT_LEAST)};
    int code = settle(work, rowlock__work_int(work, ROWLOCK_CLAIM_FORMER), ROWLOCK_CLAIM_OUTCOME);

    if (!code)
        code = rowlock__work_do(work, ROWLOCK_PLAIN_RUN_ADD, values);
    if (!code)
        code = rowlock__read_run_tokens(work, key, &runs);
    run = runs.row;
    for (size_t i = (size_t)rowlock__work_int(work, ROWLOCK_CLAIM_HISTORY); !code && i < runs.n;
         i++) {
        struct rowlock_value token = rowlock__int_value(run[i].token);

        code = rowlock__work_do(work, ROWLOCK_PLAIN_RUN_DROP, &token);
    }
    rowlock__rows_clear(&runs);
    return code;
}

/* -> 1, or 0: another version. In the transaction of the grant. */
int rowlock__emulate_job_claim(struct rowlock_work *work)
{
    const char *key = rowlock__work_key(work, ROWLOCK_CLAIM_NAME);
    struct rowlock_value instant = rowlock__work_value(work, ROWLOCK_CLAIM_INSTANT);
    struct rowlock_job_row job;
    bool faster = false, claimed = false;
    int code = find_job(work, key, &job);

    if (code || job.running == rowlock__work_int(work, ROWLOCK_CLAIM_TOKEN))
        return code ? code : rowlock__work_number(work, 1);
    if (rowlock__work_int(work, ROWLOCK_CLAIM_VERSION) == 0)
        code = add_job(work, key, ROWLOCK_CLAIM_SCHEDULE, ROWLOCK_CLAIM_INSTANT, &faster);
    if (!code && !faster) {
        struct rowlock_value values[] = {rowlock__work_value(work, ROWLOCK_CLAIM_SCHEDULE),
                                         rowlock__work_value(work, ROWLOCK_CLAIM_DUE),
                                         instant,
                                         rowlock__work_value(work, ROWLOCK_CLAIM_REPEATS),
                                         rowlock__work_value(work, ROWLOCK_CLAIM_TOKEN),
                                         rowlock__text_value(key),
                                         rowlock__work_value(work, ROWLOCK_CLAIM_VERSION),
                                         instant};

        code = rowlock__work_do(work, ROWLOCK_PLAIN_JOB_ADVANCE, values);
        claimed = !code && work->affected > 0;
    }
    if (!code && claimed)
        code = add_run(work, key);
    return code ? code : rowlock__work_number(work, claimed);
}

/* Waits for a fence only briefly; for the lock of a whole database as long as any other call. */
static int end_lost(struct rowlock_work *work, int64_t token, bool *ended)
{
    int code = rowlock__work_begin_within(work, -1);

    return code ? code : rowlock__end_expired(work, token, SETTLE_MS, ended);
}

/* -> 1, or 0: another version, or the lease of `former` is alive */
int rowlock__emulate_job_plan(struct rowlock_work *work)
{
    const char *key = rowlock__work_key(work, ROWLOCK_PLAN_NAME);
    struct rowlock_rows runs = {.size = sizeof(struct rowlock_run_row)};
    struct rowlock_job_row job = {0};
    int64_t former = rowlock__work_int(work, ROWLOCK_PLAN_FORMER), kept;
    bool ended = true, faster = false;
    int code = ROWLOCK_OK;

    if (former)
        code = end_lost(work, former, &ended);
    if (!code && ended && rowlock__work_int(work, ROWLOCK_PLAN_VERSION) == 0)
        code = add_job(work, key, ROWLOCK_PLAN_SCHEDULE, ROWLOCK_PLAN_DUE, &faster);
    if (!code && ended && !faster)
        code = find_job(work, key, &job);
    if (!code && job.name)
        code = rowlock__read_run(work, job.running, &runs);
    /* the job keeps a run that did not start until a new claim */
    kept = run_is(&runs, ROWLOCK_RUN_NOTSTARTED) ? job.running : 0;
    rowlock__rows_clear(&runs);
    if (!code && ended && !faster) {
        struct rowlock_value values[] = {rowlock__work_value(work, ROWLOCK_PLAN_SCHEDULE),
                                         rowlock__work_value(work, ROWLOCK_PLAN_DUE),
                                         rowlock__int_value(kept), rowlock__text_value(key),
                                         rowlock__work_value(work, ROWLOCK_PLAN_VERSION)};

        code = rowlock__work_do(work, ROWLOCK_PLAIN_JOB_REPLAN, values);
        ended = !code && work->affected > 0;
        if (ended)
            code = settle(work, former, ROWLOCK_PLAN_OUTCOME);
    }
    return code ? code : rowlock__work_number(work, ended && !faster);
}

/* name, version, due -> 1, or 0: the job has changed. */
int rowlock__emulate_job_due(struct rowlock_work *work)
{
    struct rowlock_value values[] = {rowlock__work_value(work, 2),
                                     rowlock__text_value(rowlock__work_key(work, 0)),
                                     rowlock__work_value(work, 1)};
    int code = rowlock__work_do(work, ROWLOCK_PLAIN_JOB_HASTEN, values);

    return code ? code : rowlock__work_number(work, work->affected > 0);
}

/* ---- the end of a run ------------------------------------------------------------------------ */

static int end_job(struct rowlock_work *work, const struct rowlock_job_row *job,
                   const struct rowlock_run_row *run, const struct rowlock_run_end *end)
{
    struct rowlock_value token = rowlock__work_value(work, 0), *which;
    struct rowlock_value values[2 + N_COUNTED + 2];
    int code = ROWLOCK_OK;

    values[0] = rowlock__int_value(end->stays ? token.number : 0);
    values[1] = rowlock__int_value(end->failed_ms);
    count_values(&values[2], job, run, end->becomes, end->now_ms);
    which = &values[2 + N_COUNTED];
    which[0] = rowlock__text_value(run->job);
    which[1] = token;
    if (end->ends_job)
        code = rowlock__work_do(work, ROWLOCK_PLAIN_JOB_END, values);
    else if (end->becomes)
        code = rowlock__work_do(work, ROWLOCK_PLAIN_JOB_COUNT, &values[2]);
    if (!code && end->touches)
        code = rowlock__work_do(work, ROWLOCK_PLAIN_JOB_TOUCH, which);
    return code;
}

static int finish(struct rowlock_work *work, const struct rowlock_run_row *run,
                  struct rowlock_run_end *end)
{
    struct rowlock_value token = rowlock__work_value(work, 0);
    struct rowlock_value values[] = {
        {0}, rowlock__work_value(work, 2), rowlock__work_value(work, 3), {0}, token};
    struct rowlock_value until[] = {{0}, token};
    struct rowlock_job_row job;
    bool was;
    int code = find_job(work, run->job, &job);

    if (code)
        return code;
    end->is_current = job.running == run->token;
    end->was = run->outcome;
    end->now_ms = run->now;
    end->taken_until_ms = run->taken_until;
    rowlock__judge_run_end(end);
    code = end_job(work, &job, run, end);
    values[0] = rowlock__text_value(rowlock_outcome_text(end->becomes));
    values[3] = rowlock__int_value(end->now_ms);
    until[0] = rowlock__int_value(end->taken_until_ms);
    if (!code && end->becomes)
        code = rowlock__work_do(work, ROWLOCK_PLAIN_RUN_END, values);
    if (!code && end->keeps_lease)
        code = rowlock__work_do(work, ROWLOCK_PLAIN_HEARTBEAT_UNTIL, until);
    else if (!code && end->has_lease)
        code = rowlock__end_lease_rows(work, token.number, &was);
    return code;
}

/* token, outcome, exit, output -> status */
int rowlock__emulate_job_finish(struct rowlock_work *work)
{
    struct rowlock_rows runs = {.size = sizeof(struct rowlock_run_row)};
    struct rowlock_value said = rowlock__work_value(work, 1);
    struct rowlock_run_end end = {.outcome = rowlock__value_outcome(&said),
                                  .status = ROWLOCK_STATUS_LOST};
    struct rowlock_beat beat; /* until the transaction ends, no session ends or renews the lease */
    struct rowlock_value token = rowlock__work_value(work, 0), job;
    int64_t number = rowlock__work_int(work, 0);
    int code = rowlock__lock_beat(work, number, &beat, &end.has_lease);

    end.stopped = beat.stopped;
    if (!code)
        code = rowlock__read_run(work, number, &runs);
    if (!code && runs.n) { /* reads the run again after its job and it were locked */
        job = rowlock__text_value(((struct rowlock_run_row *)runs.row)->job);
        code = rowlock__work_do(work, ROWLOCK_PLAIN_JOB_LOCK, &job);
        if (!code)
            code = rowlock__work_do(work, ROWLOCK_PLAIN_RUN_LOCK, &token);
        runs.n = 0;
        if (!code)
            code = rowlock__read_run(work, number, &runs);
    }
    if (!code && runs.n)
        code = finish(work, runs.row, &end);
    rowlock__rows_clear(&runs);
    return code ? code : rowlock__work_number(work, end.status);
}

/* ---- forget ---------------------------------------------------------------------------------- */

/* name -> 0 there was none, 1 it is deleted, 2 it runs. A claim in between changes the version. */
int rowlock__emulate_job_forget(struct rowlock_work *work)
{
    struct rowlock_job_row job;
    int code = find_job(work, rowlock__work_key(work, 0), &job);
    struct rowlock_value values[] = {rowlock__text_value(job.name),
                                     rowlock__int_value(job.version)};
    bool ended = true;
    int64_t result = 0;

    if (!code && job.running) /* it may be being renewed: then it has not ended */
        code = end_lost(work, job.running, &ended);
    if (!code && job.name) {
        if (ended)
            code = rowlock__work_do(work, ROWLOCK_PLAIN_JOB_DROP, values);
        result = ended && work->affected ? 1 : 2;
        if (!code && result == 1)
            code = rowlock__work_do(work, ROWLOCK_PLAIN_RUNS_DROP, values);
    }
    return code ? code : rowlock__work_number(work, result);
}
