/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the jobs that are not fine, and the longest queues. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "command/top/top.h"
#include "util/clock.h"

enum { JOB, STATE, FOR, NEXT, RUNNING, LAST, NOTE, COLUMNS };

static const char *const titles[COLUMNS] = {
    [JOB] = "JOB",         [STATE] = "STATE", [FOR] = "FOR",  [NEXT] = "NEXT",
    [RUNNING] = "RUNNING", [LAST] = "LAST",   [NOTE] = "NOTE"};

struct trouble {
    enum job_health health;
    int64_t since_ms;
    char *cells[COLUMNS];
};

struct reading {
    struct top_data *data;
    struct trouble *troubles;
    size_t n;
    int failed;
};

static const char *colour_of(const char *state)
{
    if (strcmp(state, job_healths[JOB_SLOW]) == 0 || strcmp(state, job_healths[JOB_PAUSED]) == 0)
        return "\033[33m";
    return "\033[31m";
}

int top_wants_job(const char *glob, const char *name)
{
    char lock[300];

    snprintf(lock, sizeof lock, "job:%s", name);
    return !*glob || fnmatch(glob, name, 0) == 0 || fnmatch(glob, lock, 0) == 0;
}

static int make_trouble(struct trouble *trouble, const struct rowlock_job_view *job)
{
    const char *note = trouble->health == JOB_PAUSED ? job->paused_note : "";
    int complete = 1;

    trouble->cells[JOB] = cell_text(job->name);
    trouble->cells[STATE] = strdup(job_healths[trouble->health]);
    trouble->cells[FOR] = cell_duration(job->now_ms - trouble->since_ms);
    trouble->cells[NEXT] = job->next_ms == INT64_MAX ? strdup("-") : cell_instant(job->next_ms);
    trouble->cells[RUNNING] = job->running.token ? cell_text(job->running.node) : strdup("-");
    trouble->cells[LAST] = run_result(&job->last);
    trouble->cells[NOTE] = cell_text(note);
    for (size_t i = 0; i < COLUMNS; i++)
        complete = complete && trouble->cells[i];
    return complete ? 0 : -1;
}

static int visit_job(const struct rowlock_job_view *view, void *data)
{
    struct reading *reading = data;
    struct rowlock_job_view job = settled(view);
    struct trouble trouble = {.since_ms = 0};
    void *more;

    if (!top_wants_job(reading->data->choice.glob, job.name))
        return 0;
    trouble.health = health_of(&job, &trouble.since_ms);
    reading->data->n_jobs++;
    reading->data->of_health[trouble.health]++;
    if (trouble.health == JOB_FINE)
        return 0;
    more = realloc(reading->troubles, (reading->n + 1) * sizeof *reading->troubles);
    if (!more)
        return reading->failed = 1;
    reading->troubles = more;
    reading->failed |= make_trouble(&trouble, &job);
    reading->troubles[reading->n++] = trouble;
    return reading->failed;
}

/* The worst first, then the oldest. */
static int by_health(const void *left, const void *right)
{
    const struct trouble *a = left, *b = right;

    if (a->health != b->health)
        return a->health > b->health ? -1 : 1;
    return a->since_ms < b->since_ms ? -1 : a->since_ms > b->since_ms;
}

static int make_jobs(struct reading *reading)
{
    struct table *table = &reading->data->jobs;
    int failed = reading->failed;

    *table = (struct table){
        .titles = titles, .columns = COLUMNS, .coloured = STATE, .colour = colour_of};
    if (reading->n > 0)
        qsort(reading->troubles, reading->n, sizeof *reading->troubles, by_health);
    for (size_t i = 0; i < reading->n; i++)
        failed |= table_add(table, reading->troubles[i].cells); /* frees them if it fails */
    free(reading->troubles);
    return failed;
}

int top_read(struct rowlock_connection *connection, const struct top_choice *choice,
             struct top_data *data, struct rowlock_error *error)
{
    static const enum tree_order orders[] = {[ROWLOCK_BY_QUEUE] = TREE_BY_QUEUE,
                                             [ROWLOCK_BY_WAIT] = TREE_BY_WAIT,
                                             [ROWLOCK_BY_NAME] = TREE_BY_NAME};
    struct reading reading = {.data = data};
    const char *glob = *choice->glob ? choice->glob : NULL;
    /* the cause of a wait may be a name that does not match */
    struct rowlock_choice part = {.order = choice->order,
                                  .most_waiters = glob ? 0 : choice->most_waiters,
                                  .most_rows = glob ? 0 : choice->most_rows};
    int code;

    *data = (struct top_data){.choice = *choice,
                              .tree = {.order = orders[choice->order],
                                       .glob = glob,
                                       .most_waiters = (size_t)choice->most_waiters}};
    code = rowlock_jobs(connection, NULL, visit_job, &reading, error);
    if (make_jobs(&reading) && !code) {
        snprintf(error->text, sizeof error->text, "out of memory");
        code = error->code = ROWLOCK_ENOMEM;
    }
    if (!code)
        code = rowlock_list_some(connection, &part, tree_add, &data->tree, error);
    if (!code && tree_grow(&data->tree)) {
        snprintf(error->text, sizeof error->text, "out of memory");
        code = error->code = ROWLOCK_ENOMEM;
    }
    data->tree.glob = NULL; /* the caller's */
    data->read_ms = rowlock__now_ms();
    if (code)
        top_data_free(data);
    return code;
}

void top_data_free(struct top_data *data)
{
    table_free(&data->jobs);
    tree_free(&data->tree);
    *data = (struct top_data){.choice = data->choice};
}
