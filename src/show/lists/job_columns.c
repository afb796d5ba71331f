/* SPDX-License-Identifier: Apache-2.0 */
/* Prints jobs and runs: tables and JSON. */
#include "show/lists/job_columns.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "command/output/job_words.h"
#include "command/output/json.h"
#include "util/clock.h"

/* ---- cells ----------------------------------------------------------------------------------- */

static char *where_of(const struct rowlock_run *run)
{
    char *plain, *text;

    if (!run->token)
        return strdup("-");
    if (asprintf(&plain, "%s:%" PRId64, *run->node ? run->node : "-", run->pid) < 0)
        return NULL;
    text = cell_text(plain);
    free(plain);
    return text;
}

static char *took(const struct rowlock_run *run)
{
    return has_ended(run) ? cell_duration(rowlock__between(run->started_ms, run->finished_ms))
                          : strdup("-");
}

/* The last line that is not blank. */
static char *last_line(const char *output)
{
    const char *end = output + strlen(output), *start;
    char *line, *text;

    while (end > output && strchr(" \t\r\n", end[-1]))
        end--;
    for (start = end; start > output && start[-1] != '\n'; start--)
        ;
    line = strndup(start, (size_t)(end - start));
    text = line ? cell_text(line) : NULL;
    free(line);
    return text;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static const char *colour_of(const char *result)
{
    if (strcmp(result, "done") == 0)
        return "\033[32m";
    return strcmp(result, "-") == 0 || strcmp(result, "running") == 0 ? "" : "\033[31m";
}

#define JOB_COLUMNS(XX)                                                       \
    XX(NAME, cell_text(job->name))                                            \
    XX(STATE, strdup(job_healths[rowlock_job_health(job, &since_ms)]))        \
    XX(NEXT, cell_instant(job->next_ms))                                      \
    XX(RUNNING, where_of(&job->running))                                      \
    XX(SINCE, cell_instant(job->running.token ? job->running.started_ms : 0)) \
    XX(LAST, run_result(last))                                                \
    XX(ENDED, cell_instant(last->token ? last->finished_ms : 0))              \
    XX(BY, cell_text(last->token ? last->node : "-"))                         \
    XX(AVERAGE, job->runs > 0 ? cell_duration(job->average_ms) : strdup("-")) \
    XX(SCHEDULE, cell_text(job->schedule))                                    \
    XX(NOTE, cell_text(job->paused_note))

enum { JOB_COLUMNS(COLUMN_INDEX) N_JOB_COLUMNS };

static const char *const job_titles[] = {JOB_COLUMNS(COLUMN_TITLE)};

struct table jobs_table(void)
{
    return (struct table){
        .titles = job_titles, .columns = N_JOB_COLUMNS, .coloured = LAST, .colour = colour_of};
}

int jobs_table_add(struct table *table, const struct rowlock_job_view *job)
{
    const struct rowlock_run *last = &job->last;
    int64_t since_ms;
    char *cells[] = {JOB_COLUMNS(COLUMN_CELL)};

    return table_add(table, cells);
}

#define RUN_COLUMNS(XX)                        \
    XX(STARTED, cell_instant(run->started_ms)) \
    XX(TOOK, took(run))                        \
    XX(RESULT, run_result(run))                \
    XX(NODE, where_of(run))                    \
    XX(DUE, cell_instant(run->due_ms))         \
    XX(REPEAT, cell_number(run->retry_number)) \
    XX(TOKEN, cell_number(run->token))         \
    XX(OUTPUT, last_line(run->output))

enum { RUN_COLUMNS(COLUMN_INDEX) N_RUN_COLUMNS };

static const char *const run_titles[] = {RUN_COLUMNS(COLUMN_TITLE)};

struct table runs_table(void)
{
    return (struct table){
        .titles = run_titles, .columns = N_RUN_COLUMNS, .coloured = RESULT, .colour = colour_of};
}

int runs_table_add(struct table *table, const struct rowlock_run *run)
{
    char *cells[] = {RUN_COLUMNS(COLUMN_CELL)};

    return table_add(table, cells);
}

void print_output(const char *output)
{
    while (*output) {
        size_t length = strcspn(output, "\n");
        char *line = strndup(output, length), *text = line ? cell_text(line) : NULL;

        printf("  %s\n", text ? text : "");
        free(text);
        free(line);
        output += length + (output[length] == '\n');
    }
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* Without a run (token 0) all members are null. The exit status is known if the run has ended. */
static void put_members(struct json *json, const struct rowlock_run *run)
{
    int is = run->token != 0, ended = has_ended(run);

    json_put_instant(json, "due", is ? run->due_ms : 0);
    json_put_instant(json, "started", is ? run->started_ms : 0);
    json_put_instant(json, "finished", is ? run->finished_ms : 0);
    json_put_count(json, "took_ms", ended, rowlock__between(run->started_ms, run->finished_ms));
    json_put_text(json, "outcome", is ? rowlock_outcome_text(run->outcome) : "");
    json_put_count(json, "exit", ended, run->exit);
    json_put_text(json, "node", is ? run->node : "");
    json_put_count(json, "pid", is, run->pid);
    json_put_count(json, "token", is, run->token);
    json_put_count(json, "repeat", is, run->retry_number);
    json_put_text(json, "output", is ? run->output : "");
}

/* Until it is released: paused_until is null. */
static void put_pause(struct json *json, const struct rowlock_job_view *job)
{
    int is = job->paused_token != 0;
    int ends =
        is && rowlock__between(job->now_ms, job->paused_until_ms) < ROWLOCK_UNTIL_RELEASED / 2;

    json->prefix = "paused_";
    json_put_count(json, "token", is, job->paused_token);
    json_put_text(json, "by", job->paused_by);
    json_put_text(json, "note", job->paused_note);
    json_put_instant(json, "since", job->paused_since_ms);
    json_put_instant(json, "until", ends ? job->paused_until_ms : 0);
}

/* Named as the columns of the view jobs: "runs_timed_out". */
static void put_counts(struct json *json, const struct rowlock_job_view *job)
{
    char name[16];

    json->prefix = "runs_";
    for (int i = ROWLOCK_RUN_DONE; i <= ROWLOCK_RUN_NOTSTARTED; i++) {
        snprintf(name, sizeof name, "%s", rowlock_outcome_text((enum rowlock_run_outcome)i));
        for (char *blank = name; (blank = strchr(blank, ' ')) != NULL;)
            *blank = '_';
        json_put_count(json, name, 1, job->ended[i]);
    }
}

void put_job(FILE *out, const struct rowlock_job_view *job)
{
    struct json json = {out, "", ""};
    const struct rowlock_run *running = &job->running;
    int runs = running->token != 0;
    int64_t since_ms;

    json_put_text(&json, "name", job->name);
    json_put_text(&json, "schedule", job->schedule);
    json_put_instant(&json, "next_run", job->next_ms == INT64_MAX ? 0 : job->next_ms);
    json_put_text(&json, "running_at", runs ? running->node : "");
    json_put_count(&json, "running_pid", runs, running->pid);
    json_put_instant(&json, "running_since", runs ? running->started_ms : 0);
    json_put_count(&json, "running_token", runs, running->token);
    json.prefix = "last_";
    put_members(&json, &job->last);
    json.prefix = "";
    json_put_count(&json, "average_ms", job->runs > 0, job->average_ms);
    json_put_instant(&json, "failed_since", job->failed_since_ms);
    json_put_text(&json, "state", job_healths[rowlock_job_health(job, &since_ms)]);
    json_put_instant(&json, "state_since", since_ms);
    put_pause(&json, job);
    json.prefix = "";
    json_put_instant(&json, "last_success", job->succeeded_ms);
    put_counts(&json, job);
}

void put_run(FILE *out, const struct rowlock_run *run)
{
    struct json json = {out, "", ""};

    json_put_text(&json, "job", run->job);
    put_members(&json, run);
}
