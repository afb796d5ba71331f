/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of jobs and runs, for display. They are read without locks. */
#include <string.h>

#include "emulate/job_rows.h"

/* The sources of ROWLOCK_JOB_COLUMNS. */
struct pause {
    int64_t token, acquired, expires;
    const char *host, *note;
};
struct listed {
    struct rowlock_job_row row;
    const struct rowlock_run_row *run, *ended;
    struct pause pause; /* token 0: none */
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

/* Finds the runs of the job, and how they went. */
static void look(struct listed *listed, const struct rowlock_rows *runs)
{
    struct rowlock_job_row *job = &listed->row;
    struct rowlock_run_row sought = {.job = job->name, .token = INT64_MAX};
    const struct rowlock_run_row *run = runs->row;
    int64_t done_ms = 0;

    for (size_t i = find(runs, &sought, by_job);
         i < runs->n && run[i].job && strcmp(run[i].job, job->name) == 0; i++) {
        bool failed = run[i].outcome == ROWLOCK_RUN_FAILED ||
                      run[i].outcome == ROWLOCK_RUN_TIMEDOUT ||
                      run[i].outcome == ROWLOCK_RUN_NOTSTARTED;

        if (run[i].token == job->running)
            listed->run = &run[i];
        else if (!listed->ended && run[i].finished) /* else claimed after the job was read */
            listed->ended = &run[i];
        if (run[i].outcome == ROWLOCK_RUN_DONE) {
            job->done++;
            done_ms = rowlock__after(
                done_ms, rowlock__most(0, rowlock__between(run[i].started, run[i].finished)));
        } else if (!job->done && failed) {
            job->since = run[i].started;
        }
    }
    job->average_ms = job->done ? done_ms / job->done : 0;
}

/* The lease that no process keeps and that lasts longest; token 0: none. */
static struct pause pause_of(const struct rowlock_work *work, const char *name,
                             const struct rowlock_rows *pauses)
{
    struct rowlock_value value = rowlock__text_value(name);
    char key[ROWLOCK_KEY_SIZE];
    struct rowlock_lease_row sought = {.key = key, .held = {.expires_ms = INT64_MAX}};
    const struct rowlock_lease_row *row = pauses->row;
    size_t i;

    rowlock__key(work, ROWLOCK_JOB_PREFIX, &value, key);
    i = find(pauses, &sought, by_key);
    if (i == pauses->n || strcmp(row[i].key, key) != 0)
        return (struct pause){.token = 0};
    return (struct pause){.token = row[i].held.token,
                          .acquired = row[i].acquired_ms,
                          .expires = row[i].held.expires_ms,
                          .host = row[i].host,
                          .note = row[i].note};
}

static bool is_alive(const struct rowlock_rows *leases, int64_t token)
{
    struct rowlock_lease_row sought = {.held = {.token = token}};
    const struct rowlock_lease_row *row = leases->row;
    size_t i = find(leases, &sought, by_token);

    return i < leases->n && row[i].held.token == token && row[i].held.alive;
}

static enum rowlock_run_outcome outcome_shown(const struct rowlock_run_row *run, bool alive)
{
    if (run->outcome == ROWLOCK_RUN_RUNNING && !alive)
        return ROWLOCK_RUN_LOST;
    return run->outcome == ROWLOCK_RUN_BROKEN && alive ? ROWLOCK_RUN_RUNNING : run->outcome;
}

#define outcome_value(outcome) rowlock__text_value(rowlock_outcome_text(outcome))
#define text_value rowlock__text_value
#define number_value rowlock__int_value
#define instant_value rowlock__int_value

static void list_one(struct rowlock_work *work, const struct rowlock_job_row *row,
                     const struct sources *from, int64_t now_ms)
{
    struct rowlock_value columns[ROWLOCK_COUNT_OF(ROWLOCK_JOB_COLUMNS)], *next = columns;
    struct listed listed = {.row = *row};
    const struct rowlock_job_row *job = &listed.row;
    const struct rowlock_run_row *run, *ended;
    const struct pause *pause, *pausing;
    bool alive;
    char name[256];

    look(&listed, &from->runs);
    alive = listed.run && is_alive(&from->leases, listed.run->token);
    rowlock__key_name(work, rowlock__text_value(row->name), name);
    listed.row.name = name;
    listed.row.now_ms = now_ms;
    listed.row.shown = alive        ? ROWLOCK_RUN_RUNNING
                       : listed.run ? outcome_shown(listed.run, false)
                                    : ROWLOCK_RUN_LOST;
    listed.pause = pause_of(work, name, &from->pauses);
    run = listed.run;
    ended = listed.ended;
    pause = pausing = listed.pause.token ? &listed.pause : NULL;
#define ROWLOCK_XX(kind, member, source, column) \
    *next++ = source ? kind##_value(source->column) : rowlock__text_value(NULL);
    ROWLOCK_JOB_COLUMNS(ROWLOCK_XX)
#undef ROWLOCK_XX
    rowlock__work_answer(work, columns, ROWLOCK_COUNT_OF(ROWLOCK_JOB_COLUMNS));
}

/* Of one job, or of all (NULL). A job's run and its pauses are leases of job:NAME. */
static int read_sources(struct rowlock_work *work, const struct rowlock_value *name,
                        struct sources *out)
{
    char key[ROWLOCK_KEY_SIZE] = "", lease[ROWLOCK_KEY_SIZE] = "";
    const char *only = name ? key : NULL;
    const struct rowlock_lease_row *row;
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
    rowlock__rows_sort(&out->runs, by_job);
    rowlock__rows_sort(&out->leases, by_token);
    row = out->leases.row;
    for (size_t i = 0; i < out->leases.n; i++) {
        struct rowlock_lease_row *pause =
            row[i].held.alive && !row[i].has_pid ? rowlock__rows_add(&out->pauses) : NULL;

        if (pause)
            *pause = row[i];
    }
    rowlock__rows_sort(&out->pauses, by_key);
    return rowlock__rows_complete(&out->pauses, code, work->error);
}

/* name or NULL -> see dialect.h */
int rowlock__emulate_job_list(struct rowlock_work *work)
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
    for (size_t i = 0; !code && i < from.jobs.n; i++)
        list_one(work, (struct rowlock_job_row *)from.jobs.row + i, &from, now_ms);
    rowlock__rows_clear(&from.jobs);
    rowlock__rows_clear(&from.runs);
    rowlock__rows_clear(&from.leases);
    rowlock__rows_clear(&from.pauses);
    return code;
}

/* name -> token, node, pid, due, repeats, started, finished, outcome, exit, output; latest first */
int rowlock__emulate_run_list(struct rowlock_work *work)
{
    struct rowlock_rows runs = {.size = sizeof(struct rowlock_run_row)}, again = runs;
    struct rowlock_rows leases = {.size = sizeof(struct rowlock_lease_row)};
    const struct rowlock_run_row *listed;
    char key[ROWLOCK_KEY_SIZE];
    int code = rowlock__read_runs(work, rowlock__work_key(work, 0), &runs);

    if (!code && runs.n) {
        rowlock__key(work, ROWLOCK_JOB_PREFIX, &work->call->values[0], key);
        code = rowlock__read_leases(work, key, NULL, &leases);
        rowlock__rows_sort(&leases, by_token);
    }
    listed = runs.row;
    for (size_t i = 0; !code && i < runs.n; i++) {
        struct rowlock_value columns[ROWLOCK_COUNT_OF(ROWLOCK_RUN_COLUMNS)], *next = columns;
        bool alive = is_alive(&leases, listed[i].token);
        struct rowlock_run_row run;

        again.n = 0;
        if (listed[i].outcome == ROWLOCK_RUN_RUNNING &&
            !alive) /* it may have ended since it was read */
            code = rowlock__read_run(work, listed[i].token, &again);
        if (code)
            break;
        run = again.n ? *(struct rowlock_run_row *)again.row : listed[i];
        run.outcome = outcome_shown(&run, alive);
#define ROWLOCK_XX(kind, member, column) *next++ = kind##_value(run.column);
        ROWLOCK_RUN_COLUMNS(ROWLOCK_XX)
#undef ROWLOCK_XX
        rowlock__work_answer(work, columns, ROWLOCK_COUNT_OF(ROWLOCK_RUN_COLUMNS));
    }
    rowlock__rows_clear(&runs);
    rowlock__rows_clear(&again);
    rowlock__rows_clear(&leases);
    return code;
}

/* Reads the rows of jobs and runs. */

#define text_of rowlock__copy_text
#define number_of(rows, column) rowlock__value_number(column)
#define outcome_of(rows, column) rowlock__value_outcome(column)

#define ROWLOCK_XX(kind, column) row->column = kind##_of(rows, columns++);
static void job_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct rowlock_rows *rows = data;
    struct rowlock_job_row *row =
        n < ROWLOCK_COUNT_OF(ROWLOCK_JOB_ROW) ? NULL : rowlock__rows_add(rows);

    if (!row)
        return;
    ROWLOCK_JOB_ROW(ROWLOCK_XX)
}

static void run_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct rowlock_rows *rows = data;
    struct rowlock_run_row *row =
        n < ROWLOCK_COUNT_OF(ROWLOCK_RUN_ROW) ? NULL : rowlock__rows_add(rows);

    if (!row)
        return;
    ROWLOCK_RUN_ROW(ROWLOCK_XX)
}
#undef ROWLOCK_XX

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct rowlock_job_row *)a)->name,
                  ((const struct rowlock_job_row *)b)->name);
}

static int latest_first(const void *a, const void *b)
{
    int64_t left = ((const struct rowlock_run_row *)a)->token;
    int64_t right = ((const struct rowlock_run_row *)b)->token;

    return rowlock__order(right, left);
}

int rowlock__read_jobs(struct rowlock_work *work, const char *key, struct rowlock_rows *rows)
{
    struct rowlock_value value = rowlock__text_value(key);
    int code = rowlock__work_ask(work, key ? ROWLOCK_PLAIN_JOB : ROWLOCK_PLAIN_JOBS, &value,
                                 job_row, rows);

    rowlock__rows_sort(rows, by_name);
    return rowlock__rows_complete(rows, code, work->error);
}

int rowlock__read_runs(struct rowlock_work *work, const char *key, struct rowlock_rows *rows)
{
    struct rowlock_value value = rowlock__text_value(key);
    int code = rowlock__work_ask(work, key ? ROWLOCK_PLAIN_RUNS : ROWLOCK_PLAIN_RUNS_ALL, &value,
                                 run_row, rows);

    rowlock__rows_sort(rows, latest_first);
    return rowlock__rows_complete(rows, code, work->error);
}

static void token_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct rowlock_run_row *row = n < 1 ? NULL : rowlock__rows_add(data);

    if (row)
        row->token = rowlock__value_number(&columns[0]);
}

int rowlock__read_run_tokens(struct rowlock_work *work, const char *key, struct rowlock_rows *rows)
{
    struct rowlock_value value = rowlock__text_value(key);
    int code = rowlock__work_ask(work, ROWLOCK_PLAIN_RUN_TOKENS, &value, token_row, rows);

    rowlock__rows_sort(rows, latest_first);
    return rowlock__rows_complete(rows, code, work->error);
}

int rowlock__read_run(struct rowlock_work *work, int64_t token, struct rowlock_rows *rows)
{
    struct rowlock_value value = rowlock__int_value(token);
    int code = rowlock__work_ask(work, ROWLOCK_PLAIN_RUN, &value, run_row, rows);

    return rowlock__rows_complete(rows, code, work->error);
}
