/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the jobs that are not fine, and the longest queues. */
#include <string.h>

#include "show/top/top.h"
#include "util/clock.h"
#include "util/error.h"

#define FILTERED_ROWS 1000 /* rows to read with a filter; those that match come first */

static void trouble_fields(struct fields *to, const void *row)
{
    const struct rowlock_job_view *job = row;
    int64_t since_ms;
    enum rowlock_health health = rowlock_job_health(job, &since_ms);

    field_text(to, "JOB", NULL, job->name);
    field_text(to, "STATE", NULL, job_healths[health]);
    field_duration(to, "FOR", NULL, 1, rowlock__between(since_ms, job->now_ms));
    field_instant(to, "NEXT", NULL, job->next_ms);
    field_text(to, "RUNNING", NULL, job->running.token ? job->running.node : "-");
    field_cell(to, "LAST", run_result(&job->last));
    field_text(to, "NOTE", NULL, health == ROWLOCK_HEALTH_PAUSED ? job->paused_note : "");
}

static const char *colour_of(const char *state)
{
    if (strcmp(state, job_healths[ROWLOCK_HEALTH_SLOW]) == 0 ||
        strcmp(state, job_healths[ROWLOCK_HEALTH_PAUSED]) == 0)
        return "\033[33m";
    return "\033[31m";
}

static const struct list trouble_list = {
    .fields = trouble_fields, .coloured = "STATE", .colour = colour_of};

static int visit_job(const struct rowlock_job_view *view, void *data)
{
    struct rowlock_job_view job = settled(view);

    return listing_add(data, &job);
}

int top_read(struct rowlock_connection *connection, const struct top_choice *choice,
             struct top_data *data, struct rowlock_error *error)
{
    const char *glob = *choice->glob ? choice->glob : NULL;
    struct rowlock_job_choice troubled = {.glob = glob, .most_rows = choice->most_jobs};
    /* the cause of a wait may be a name that does not match */
    struct rowlock_choice part = {.glob = glob,
                                  .others = glob != NULL,
                                  .order = choice->order,
                                  .most_waiters = choice->most_waiters,
                                  .most_rows = glob ? FILTERED_ROWS : choice->most_rows};
    struct listing jobs = {.table.list = &trouble_list};
    int code;

    *data = (struct top_data){.choice = *choice,
                              .tree = {.order = choice->order,
                                       .glob = glob,
                                       .most_waiters = (size_t)choice->most_waiters}};
    code = rowlock_job_troubles(connection, &troubled, visit_job, &jobs, &data->job_counts, error);
    data->jobs = jobs.table;
    if (!code && jobs.failed)
        code = rowlock__no_memory(error);
    if (!code)
        code = rowlock_list_some(connection, &part, tree_add, &data->tree, error);
    if (!code && tree_grow(&data->tree))
        code = rowlock__no_memory(error);
    data->tree.glob = NULL; /* it belongs to the caller */
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
