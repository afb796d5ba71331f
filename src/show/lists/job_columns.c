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

enum { NAME, STATE, NEXT, RUNNING, SINCE, LAST, ENDED, BY, AVERAGE, SCHEDULE, NOTE, JOB_COLUMNS };

static const char *const job_titles[] = {
    [NAME] = "NAME",       [STATE] = "STATE",       [NEXT] = "NEXT",   [RUNNING] = "RUNNING",
    [SINCE] = "SINCE",     [LAST] = "LAST",         [ENDED] = "ENDED", [BY] = "BY",
    [AVERAGE] = "AVERAGE", [SCHEDULE] = "SCHEDULE", [NOTE] = "NOTE"};

struct table jobs_table(void)
{
    return (struct table){
        .titles = job_titles, .columns = JOB_COLUMNS, .coloured = LAST, .colour = colour_of};
}

int jobs_table_add(struct table *table, const struct rowlock_job_view *job)
{
    const struct rowlock_run *last = &job->last;
    int64_t since_ms;
    char *cells[JOB_COLUMNS] = {
        [NAME] = cell_text(job->name),
        [STATE] = strdup(job_healths[rowlock_job_health(job, &since_ms)]),
        [NEXT] = cell_instant(job->next_ms),
        [RUNNING] = where_of(&job->running),
        [SINCE] = cell_instant(job->running.token ? job->running.started_ms : 0),
        [LAST] = run_result(last),
        [ENDED] = cell_instant(last->token ? last->finished_ms : 0),
        [BY] = cell_text(last->token ? last->node : "-"),
        [AVERAGE] = job->runs > 0 ? cell_duration(job->average_ms) : strdup("-"),
        [SCHEDULE] = cell_text(job->schedule),
        [NOTE] = cell_text(job->paused_note)};

    return table_add(table, cells);
}

enum { STARTED, TOOK, RESULT, NODE, DUE, REPEAT, TOKEN, OUTPUT, RUN_COLUMNS };

static const char *const run_titles[] = {
    [STARTED] = "STARTED", [TOOK] = "TOOK",     [RESULT] = "RESULT", [NODE] = "NODE",
    [DUE] = "DUE",         [REPEAT] = "REPEAT", [TOKEN] = "TOKEN",   [OUTPUT] = "OUTPUT"};

struct table runs_table(void)
{
    return (struct table){
        .titles = run_titles, .columns = RUN_COLUMNS, .coloured = RESULT, .colour = colour_of};
}

int runs_table_add(struct table *table, const struct rowlock_run *run)
{
    char *cells[RUN_COLUMNS] = {[STARTED] = cell_instant(run->started_ms),
                                [TOOK] = took(run),
                                [RESULT] = run_result(run),
                                [NODE] = where_of(run),
                                [DUE] = cell_instant(run->due_ms),
                                [REPEAT] = cell_number(run->retry_number),
                                [TOKEN] = cell_number(run->token),
                                [OUTPUT] = last_line(run->output)};

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

static void key(FILE *out, const char *prefix, const char *name)
{
    fprintf(out, ",\"%s%s\":", prefix, name);
}

static void put_instant(FILE *out, const char *prefix, const char *name, int64_t ms)
{
    key(out, prefix, name);
    json_instant(out, ms == INT64_MAX ? 0 : ms);
}

static void put_text(FILE *out, const char *prefix, const char *name, const char *text)
{
    key(out, prefix, name);
    json_text(out, text);
}

static void put_number(FILE *out, const char *prefix, const char *name, int is, int64_t number)
{
    key(out, prefix, name);
    if (is)
        fprintf(out, "%" PRId64, number);
    else
        fputs("null", out);
}

/* Without a run (token 0) all members are null. The exit status is known if the run has ended. */
static void put_members(FILE *out, const char *prefix, const struct rowlock_run *run)
{
    int is = run->token != 0, ended = has_ended(run);

    put_instant(out, prefix, "due", is ? run->due_ms : 0);
    put_instant(out, prefix, "started", is ? run->started_ms : 0);
    put_instant(out, prefix, "finished", is ? run->finished_ms : 0);
    put_number(out, prefix, "took_ms", ended, rowlock__between(run->started_ms, run->finished_ms));
    put_text(out, prefix, "outcome", is ? rowlock_outcome_text(run->outcome) : "");
    put_number(out, prefix, "exit", ended, run->exit);
    put_text(out, prefix, "node", is ? run->node : "");
    put_number(out, prefix, "pid", is, run->pid);
    put_number(out, prefix, "token", is, run->token);
    put_number(out, prefix, "repeat", is, run->retry_number);
    put_text(out, prefix, "output", is ? run->output : "");
}

/* Until it is released: paused_until is null. */
static void put_pause(FILE *out, const struct rowlock_job_view *job)
{
    int is = job->paused_token != 0;
    int ends =
        is && rowlock__between(job->now_ms, job->paused_until_ms) < ROWLOCK_UNTIL_RELEASED / 2;

    put_number(out, "paused_", "token", is, job->paused_token);
    put_text(out, "paused_", "by", job->paused_by);
    put_text(out, "paused_", "note", job->paused_note);
    put_instant(out, "paused_", "since", job->paused_since_ms);
    put_instant(out, "paused_", "until", ends ? job->paused_until_ms : 0);
}

/* Named as the columns of the view jobs: "runs_timed_out". */
static void put_counts(FILE *out, const struct rowlock_job_view *job)
{
    char name[16];

    put_instant(out, "", "last_success", job->succeeded_ms);
    for (int i = ROWLOCK_RUN_DONE; i <= ROWLOCK_RUN_NOTSTARTED; i++) {
        snprintf(name, sizeof name, "%s", rowlock_outcome_text((enum rowlock_run_outcome)i));
        for (char *blank = name; (blank = strchr(blank, ' ')) != NULL;)
            *blank = '_';
        put_number(out, "runs_", name, 1, job->ended[i]);
    }
}

void put_job(FILE *out, const struct rowlock_job_view *job)
{
    int64_t since_ms;
    const struct rowlock_run *running = &job->running;
    int runs = running->token != 0;

    fputs("\"name\":", out);
    json_text(out, job->name);
    put_text(out, "", "schedule", job->schedule);
    put_instant(out, "", "next_run", job->next_ms);
    put_text(out, "running_", "at", runs ? running->node : "");
    put_number(out, "running_", "pid", runs, running->pid);
    put_instant(out, "running_", "since", runs ? running->started_ms : 0);
    put_number(out, "running_", "token", runs, running->token);
    put_members(out, "last_", &job->last);
    put_number(out, "", "average_ms", job->runs > 0, job->average_ms);
    put_instant(out, "failed_", "since", job->failed_since_ms);
    put_text(out, "", "state", job_healths[rowlock_job_health(job, &since_ms)]);
    put_instant(out, "", "state_since", since_ms);
    put_pause(out, job);
    put_counts(out, job);
}

void put_run(FILE *out, const struct rowlock_run *run)
{
    fputs("\"job\":", out);
    json_text(out, run->job);
    put_members(out, "", run);
}
