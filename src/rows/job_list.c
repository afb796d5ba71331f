/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of jobs and runs, for display. They are read without locks. */
#include <stdlib.h>
#include <string.h>

#include "rows/jobs.h"

/* The runs and sums that the line of one job shows. */
struct history {
    const struct rowlock_run_row *current, *ended;
    bool alive; /* the lease of the current run is */
    int64_t done, done_ms, failed_since_ms;
};

/* The rows of all jobs. They are sorted, because each job seeks its own among them. */
struct sources {
    struct rowlock_rows jobs, leases; /* by token */
    struct rowlock_rows runs;         /* by job, latest first */
    struct rowlock_rows pauses;       /* leases that no process keeps, by key, the longest first */
};

static int by_job(const void *a, const void *b)
{
    const struct rowlock_run_row *left = a, *right = b;
    int order = strcmp(left->job ? left->job : "", right->job ? right->job : "");

    return order ? order : rowlock__order(right->token, left->token);
}

static int by_token(const void *a, const void *b)
{
    const struct rowlock_lease_row *left = a, *right = b;

    return rowlock__order(left->held.token, right->held.token);
}

static int by_key(const void *a, const void *b)
{
    const struct rowlock_lease_row *left = a, *right = b;
    int order = strcmp(left->key, right->key);

    return order ? order : rowlock__order(right->held.expires_ms, left->held.expires_ms);
}

static void sort(struct rowlock_rows *rows, int (*by)(const void *, const void *))
{
    if (rows->n > 1)
        qsort(rows->row, rows->n, rows->size, by);
}

/* The first row that is not before `sought`. */
static size_t find(const struct rowlock_rows *rows, const void *sought,
                   int (*by)(const void *, const void *))
{
    size_t from = 0, to = rows->n;

    while (from < to) {
        size_t middle = from + (to - from) / 2;

        if (by((const char *)rows->row + middle * rows->size, sought) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static bool is_failure(enum rowlock_run_outcome outcome)
{
    return outcome == ROWLOCK_RUN_FAILED || outcome == ROWLOCK_RUN_TIMEDOUT ||
           outcome == ROWLOCK_RUN_NOTSTARTED;
}

static struct history history_of(const struct rowlock_job_row *job, const struct rowlock_rows *runs)
{
    struct history h = {.alive = false};
    struct rowlock_run_row sought = {.job = job->key, .token = INT64_MAX};
    const struct rowlock_run_row *run = runs->row;

    for (size_t i = find(runs, &sought, by_job);
         i < runs->n && run[i].job && strcmp(run[i].job, job->key) == 0; i++) {
        if (run[i].token == job->running)
            h.current = &run[i];
        else if (!h.ended && run[i].finished_ms) /* else it was claimed after the job was read */
            h.ended = &run[i];
        if (run[i].outcome == ROWLOCK_RUN_DONE) {
            h.done++;
            h.done_ms = rowlock__after(
                h.done_ms,
                rowlock__most(0, rowlock__between(run[i].started_ms, run[i].finished_ms)));
        } else if (!h.done && is_failure(run[i].outcome)) {
            h.failed_since_ms = run[i].started_ms;
        }
    }
    return h;
}

static void add_pauses(struct sources *from)
{
    const struct rowlock_lease_row *row = from->leases.row;

    for (size_t i = 0; i < from->leases.n; i++) {
        struct rowlock_lease_row *pause =
            row[i].held.alive && !row[i].has_pid ? rowlock__rows_add(&from->pauses) : NULL;

        if (pause)
            *pause = row[i];
    }
    sort(&from->pauses, by_key);
}

/* The lease that no process keeps and that lasts longest; NULL: none. */
static const struct rowlock_lease_row *pause_of(const struct rowlock_work *work, const char *name,
                                                const struct rowlock_rows *pauses)
{
    struct rowlock_value value = rowlock__text_value(name);
    char key[ROWLOCK_KEY_SIZE];
    struct rowlock_lease_row sought = {.key = key, .held = {.expires_ms = INT64_MAX}};
    const struct rowlock_lease_row *row = pauses->row;
    size_t i;

    rowlock__key(work, ROWLOCK_JOB_PREFIX, &value, key);
    i = find(pauses, &sought, by_key);
    return i < pauses->n && strcmp(row[i].key, key) == 0 ? &row[i] : NULL;
}

static bool is_alive(const struct rowlock_rows *leases, int64_t token)
{
    struct rowlock_lease_row sought = {.held = {.token = token}};
    const struct rowlock_lease_row *row = leases->row;
    size_t i = find(leases, &sought, by_token);

    return i < leases->n && row[i].held.token == token && row[i].held.alive;
}

/* token, node, pid, due, repeats, started */
static void put_run(struct rowlock_value *out, const struct rowlock_run_row *run)
{
    if (!run)
        return;
    out[0] = rowlock__int_value(run->token);
    out[1] = rowlock__text_value(run->node);
    out[2] = rowlock__int_value(run->pid);
    out[3] = rowlock__int_value(run->due_ms);
    out[4] = rowlock__int_value(run->repeats);
    out[5] = rowlock__int_value(run->started_ms);
}

static const char *shown(const struct history *h)
{
    if (!h->current)
        return NULL;
    if (h->alive)
        return rowlock_outcome_text(ROWLOCK_RUN_RUNNING);
    return rowlock_outcome_text(h->current->outcome ? h->current->outcome : ROWLOCK_RUN_LOST);
}

static void list_job(struct rowlock_work *work, const struct rowlock_job_row *job,
                     const struct history *h, const struct rowlock_rows *pauses, int64_t now_ms)
{
    struct rowlock_value key = rowlock__text_value(job->key), columns[40];
    const struct rowlock_lease_row *pause;
    char name[256];

    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        columns[i] = rowlock__text_value(NULL);
    rowlock__key_name(work, &key, name);
    columns[0] = rowlock__text_value(name);
    columns[1] = rowlock__text_value(job->schedule);
    columns[2] = rowlock__int_value(now_ms);
    columns[3] = rowlock__int_value(job->due_ms);
    put_run(&columns[4], h->current);
    columns[10] = rowlock__text_value(shown(h));
    put_run(&columns[11], h->ended);
    if (h->ended) {
        columns[17] = rowlock__int_value(h->ended->finished_ms);
        columns[18] = rowlock__text_value(rowlock_outcome_text(h->ended->outcome));
        columns[19] = rowlock__int_value(h->ended->exit);
        columns[20] = rowlock__text_value(h->ended->output);
    }
    columns[21] = rowlock__int_value(h->done);
    if (h->done)
        columns[22] = rowlock__int_value(h->done_ms / h->done);
    if (h->failed_since_ms)
        columns[23] = rowlock__int_value(h->failed_since_ms);
    if (h->current) {
        columns[24] = rowlock__int_value(h->current->finished_ms);
        columns[25] = rowlock__int_value(h->current->exit);
        columns[26] = rowlock__text_value(h->current->output);
    }
    pause = pause_of(work, name, pauses);
    if (pause) {
        columns[27] = rowlock__int_value(pause->held.token);
        columns[28] = rowlock__text_value(pause->host);
        columns[29] = rowlock__text_value(pause->note);
        columns[30] = rowlock__int_value(pause->acquired_ms);
        columns[31] = rowlock__int_value(pause->held.expires_ms);
    }
    for (int i = 0; i < ROWLOCK_RUN_COUNTS; i++)
        columns[32 + i] = rowlock__int_value(job->runs[i]);
    columns[39] = rowlock__int_value(job->succeeded_ms);
    rowlock__work_answer(work, columns, 40);
}

/* Of one job, or of all (NULL). A job's run and its pauses are leases of job:NAME. */
static int read_sources(struct rowlock_work *work, const struct rowlock_value *name,
                        struct sources *out)
{
    char key[ROWLOCK_KEY_SIZE] = "", lease[ROWLOCK_KEY_SIZE] = "";
    const char *only = name ? key : NULL;
    int code;

    if (name) {
        rowlock__key(work, "", name, key);
        rowlock__key(work, ROWLOCK_JOB_PREFIX, name, lease);
    }
    /* in this order: a run that ends meanwhile is not shown as lost */
    code = rowlock__read_jobs(work, only, &out->jobs);
    if (!code && out->jobs.n)
        code = rowlock__read_leases(work, name ? lease : NULL, NULL, &out->leases);
    if (!code)
        code = rowlock__read_runs(work, only, &out->runs);
    sort(&out->runs, by_job);
    sort(&out->leases, by_token);
    add_pauses(out);
    return rowlock__rows_complete(&out->pauses, code, work->error);
}

/* name or NULL -> see dialect.h */
int rowlock__rows_job_list(struct rowlock_work *work)
{
    struct sources from = {.jobs.size = sizeof(struct rowlock_job_row),
                           .runs.size = sizeof(struct rowlock_run_row),
                           .leases.size = sizeof(struct rowlock_lease_row),
                           .pauses.size = sizeof(struct rowlock_lease_row)};
    struct rowlock_value name = rowlock__work_value(work, 0);
    int64_t now_ms = 0;
    int code = read_sources(work, name.type == ROWLOCK_NULL ? NULL : &name, &from);

    if (!code)
        code = rowlock__work_now(work, &now_ms);
    for (size_t i = 0; !code && i < from.jobs.n; i++) {
        const struct rowlock_job_row *job = (struct rowlock_job_row *)from.jobs.row + i;
        struct history h = history_of(job, &from.runs);

        h.alive = h.current && is_alive(&from.leases, h.current->token);
        list_job(work, job, &h, &from.pauses, now_ms);
    }
    rowlock__rows_clear(&from.jobs);
    rowlock__rows_clear(&from.runs);
    rowlock__rows_clear(&from.leases);
    rowlock__rows_clear(&from.pauses);
    return code;
}

static enum rowlock_run_outcome outcome_shown(const struct rowlock_run_row *run, bool alive)
{
    if (run->outcome == ROWLOCK_RUN_RUNNING && !alive)
        return ROWLOCK_RUN_LOST;
    return run->outcome == ROWLOCK_RUN_BROKEN && alive ? ROWLOCK_RUN_RUNNING : run->outcome;
}

static void list_run(struct rowlock_work *work, const struct rowlock_run_row *run, bool alive)
{
    struct rowlock_value columns[10];

    put_run(columns, run);
    columns[6] = rowlock__int_value(run->finished_ms);
    columns[7] = rowlock__text_value(rowlock_outcome_text(outcome_shown(run, alive)));
    columns[8] = rowlock__int_value(run->exit);
    columns[9] = rowlock__text_value(run->output);
    rowlock__work_answer(work, columns, 10);
}

/* name -> token, node, pid, due, repeats, started, finished, outcome, exit, output; latest first */
int rowlock__rows_run_list(struct rowlock_work *work)
{
    struct rowlock_rows runs = {.size = sizeof(struct rowlock_run_row)}, again = runs;
    struct rowlock_rows leases = {.size = sizeof(struct rowlock_lease_row)};
    const struct rowlock_run_row *run;
    char key[ROWLOCK_KEY_SIZE];
    int code;

    rowlock__key(work, "", &work->call->values[0], key);
    code = rowlock__read_runs(work, key, &runs);
    if (!code && runs.n) {
        rowlock__key(work, ROWLOCK_JOB_PREFIX, &work->call->values[0], key);
        code = rowlock__read_leases(work, key, NULL, &leases);
        sort(&leases, by_token);
    }
    run = runs.row;
    for (size_t i = 0; !code && i < runs.n; i++) {
        bool alive = is_alive(&leases, run[i].token);

        again.n = 0;
        if (run[i].outcome == ROWLOCK_RUN_RUNNING &&
            !alive) /* it may have ended since it was read */
            code = rowlock__read_run(work, run[i].token, &again);
        if (!code)
            list_run(work, again.n ? again.row : &run[i], alive);
    }
    rowlock__rows_clear(&runs);
    rowlock__rows_clear(&again);
    rowlock__rows_clear(&leases);
    return code;
}
