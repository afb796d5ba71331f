/* SPDX-License-Identifier: Apache-2.0 */
/* The health of a job, and the jobs that are not fine. */
#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dialect/job.h"
#include "job/job.h"
#include "lease/query.h"
#include "session/connection.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/glob.h"

#define LATE_MS 60000 /* a job is late if no node claims it this long after its due time */
/* A run is slow if it has taken longer than this, and than this many times the average. */
#define SLOW_LEAST_MS 1000
#define SLOW_TIMES 3
/* of job_trouble: those of job_list, and the counts */
#define COLUMNS (ROWLOCK_COUNT_OF(ROWLOCK_JOB_COLUMNS) + 1 + ROWLOCK_HEALTH_LOST)

/* ---- health ---------------------------------------------------------------------------------- */

/* sql/shared/job_trouble.sql has the same rules, so that fine jobs stay on the server. */
enum rowlock_health rowlock_job_health(const struct rowlock_job_view *job, int64_t *since_ms)
{
    bool ended = job->running.token && job->running.outcome != ROWLOCK_RUN_RUNNING;
    bool runs = job->running.token && !ended;
    const struct rowlock_run *last = ended ? &job->running : &job->last;
    int64_t unused, average_ms, most_ms;

    since_ms = since_ms ? since_ms : &unused;
    *since_ms = 0;
    if (job->paused_token) {
        *since_ms = job->paused_since_ms;
        return ROWLOCK_HEALTH_PAUSED;
    }
    if (!runs && last->token &&
        (last->outcome == ROWLOCK_RUN_LOST || last->outcome == ROWLOCK_RUN_LATE)) {
        *since_ms = last->started_ms;
        return ROWLOCK_HEALTH_LOST;
    }
    if (job->failed_since_ms) {
        *since_ms = job->failed_since_ms;
        return ROWLOCK_HEALTH_FAILING;
    }
    if (!runs && job->next_ms < job->now_ms - LATE_MS) {
        *since_ms = job->next_ms;
        return ROWLOCK_HEALTH_LATE;
    }
    /* when the run under way became slow; 0: it is not */
    average_ms = rowlock__most(0, rowlock__least(job->average_ms, INT64_MAX / SLOW_TIMES));
    most_ms = rowlock__most(SLOW_TIMES * average_ms, SLOW_LEAST_MS);
    if (runs && job->runs && rowlock__between(job->running.started_ms, job->now_ms) > most_ms)
        *since_ms = job->running.started_ms + most_ms;
    return *since_ms ? ROWLOCK_HEALTH_SLOW : ROWLOCK_HEALTH_FINE;
}

/* The worst first, then the oldest. */
static int by_health(const void *left, const void *right)
{
    const struct rowlock_job_view *a = left, *b = right;
    int64_t a_since_ms, b_since_ms;
    enum rowlock_health of_a = rowlock_job_health(a, &a_since_ms);
    enum rowlock_health of_b = rowlock_job_health(b, &b_since_ms);
    int order = rowlock__order(of_b, of_a);

    if (!order)
        order = rowlock__order(a_since_ms, b_since_ms);
    return order ? order : strcmp(a->name, b->name);
}

/* ---- a choice -------------------------------------------------------------------------------- */

struct troubles {
    const char *glob;
    bool chosen;              /* by the server */
    struct rowlock_rows rows; /* struct rowlock_job_view */
    struct rowlock_job_counts counts;
};

/* A row of job_trouble: the server chose it, and counted. */
static void chosen_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct troubles *troubles = data;
    const struct rowlock_value *counts = columns + ROWLOCK_COUNT_OF(ROWLOCK_JOB_COLUMNS);

    _Static_assert(COLUMNS <= ROWLOCK_COLUMNS, "driver.h: no result has more");
    if (n < COLUMNS)
        return;
    troubles->counts.jobs = rowlock__value_number(counts);
    for (int i = ROWLOCK_HEALTH_PAUSED; i <= ROWLOCK_HEALTH_LOST; i++)
        troubles->counts.of[i] = rowlock__value_number(&counts[i]);
    if (columns[0].type != ROWLOCK_NULL)
        rowlock__job_row(&troubles->rows, columns, n);
}

static int ask_server(struct rowlock_connection *connection, const char *pattern,
                      const struct rowlock_job_choice *choice, struct troubles *troubles,
                      struct rowlock_error *error)
{
    int code = rowlock__ask(
        connection, ROWLOCK_SQL_JOB_TROUBLE,
        (struct rowlock_value[]){rowlock__text_value(pattern),
                                 rowlock__int_value(choice->most_rows), rowlock__int_value(LATE_MS),
                                 rowlock__int_value(SLOW_LEAST_MS), rowlock__int_value(SLOW_TIMES)},
        chosen_row, troubles, error);

    troubles->counts.of[ROWLOCK_HEALTH_FINE] = troubles->counts.jobs;
    for (int i = ROWLOCK_HEALTH_PAUSED; i <= ROWLOCK_HEALTH_LOST; i++)
        troubles->counts.of[ROWLOCK_HEALTH_FINE] -= troubles->counts.of[i];
    return code;
}

/* A row of job_list. */
static void any_row(void *data, const struct rowlock_value *columns, unsigned n)
{
    struct troubles *troubles = data;
    struct rowlock_rows *rows = &troubles->rows;
    size_t before = rows->n;
    const struct rowlock_job_view *job;
    enum rowlock_health health;
    bool wanted;
    char lock[300];

    rowlock__job_row(rows, columns, n);
    if (rows->n == before)
        return;
    job = (const struct rowlock_job_view *)rows->row + before;
    health = rowlock_job_health(job, NULL);
    snprintf(lock, sizeof lock, "job:%s", job->name);
    wanted = !troubles->glob || fnmatch(troubles->glob, job->name, 0) == 0 ||
             fnmatch(troubles->glob, lock, 0) == 0;
    troubles->counts.jobs += wanted;
    troubles->counts.of[health] += wanted;
    if (health == ROWLOCK_HEALTH_FINE || !wanted)
        rows->n = before;
}

/* Only a pattern that LIKE expresses exactly lets the server count. */
static int read_troubles(struct rowlock_connection *connection,
                         const struct rowlock_job_choice *choice, struct troubles *troubles,
                         struct rowlock_error *error)
{
    struct rowlock_value all = {.type = ROWLOCK_NULL};
    bool exact;
    char *pattern = rowlock__glob_to_like(choice->glob ? choice->glob : "*", &exact);
    int code;

    if (!pattern)
        return rowlock__no_memory(error);
    troubles->chosen = exact && rowlock__sql(connection, ROWLOCK_SQL_JOB_TROUBLE);
    if (troubles->chosen)
        code = ask_server(connection, pattern, choice, troubles, error);
    else
        code = rowlock__ask(connection, ROWLOCK_SQL_JOB_LIST, &all, any_row, troubles, error);
    free(pattern);
    return rowlock__rows_complete(&troubles->rows, code, error);
}

int rowlock_job_troubles(struct rowlock_connection *connection,
                         const struct rowlock_job_choice *choice, rowlock_visit_job visit,
                         void *data, struct rowlock_job_counts *counts, struct rowlock_error *error)
{
    struct troubles troubles = {.rows = {.size = sizeof(struct rowlock_job_view)}};
    int code = rowlock__ready(connection, ROWLOCK_STATE_IDLE, error);
    struct rowlock_job_view *job;
    size_t n;

    if (!code && (!choice || choice->most_rows < 0))
        code = rowlock__fail(error, ROWLOCK_EINVAL, "the choice of jobs has a negative limit");
    if (!code && choice->glob)
        code = rowlock__glob_check(choice->glob, error);
    if (!code)
        code = rowlock__list_check(connection, visit != NULL, error);
    if (code)
        return code;
    troubles.glob = choice->glob;
    code = read_troubles(connection, choice, &troubles, error);
    job = troubles.rows.row;
    n = troubles.rows.n;
    if (!code && n > 0)
        qsort(job, n, sizeof *job, by_health);
    if (!code && counts)
        *counts = troubles.counts;
    if (!troubles.chosen && choice->most_rows && n > (size_t)choice->most_rows)
        n = (size_t)choice->most_rows;
    for (size_t i = 0; !code && i < n; i++)
        if (visit(&job[i], data))
            break;
    rowlock__rows_clear(&troubles.rows);
    return code;
}
